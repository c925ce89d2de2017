/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * Integers, and what a compiler for BPF must be told.
 */
#ifndef AIRLANE_MDCC_TYPES_H
#define AIRLANE_MDCC_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;

#define INLINE inline __attribute__((always_inline))
/* A function that is not static is verified once, whoever calls it. */
#define GLOBAL __attribute__((noinline))
#define SEC(name) __attribute__((section(name), used))

#endif
