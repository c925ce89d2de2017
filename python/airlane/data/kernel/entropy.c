// SPDX-License-Identifier: MIT
/*
 * Random numbers of a guest in virtual time: those of a seed, if the environment has one. airlane appends this to
 * arch/um/os-Linux/util.c, where getrandom(2) is called. The numbers are those of xorshift64* (Vigna, "An experimental
 * exploration of Marsaglia's xorshift generators, scrambled", 2016); the kernel mixes them into its own generator.
 */
ssize_t airlane_getrandom(void *into, size_t length, unsigned int flags)
{
	static unsigned long long state;
	const char *seed = getenv("AIRLANE_SEED");
	unsigned char *bytes = into;
	size_t at;

	if (!seed)
		return getrandom(into, length, flags);
	if (!state) {
		state = strtoull(seed, NULL, 0);
		if (!state)
			state = 1;
	}
	for (at = 0; at < length; at++) {
		state ^= state >> 12;
		state ^= state << 25;
		state ^= state >> 27;
		bytes[at] = (state * 0x2545f4914f6cdd1dULL) >> 56;
	}
	return length;
}
