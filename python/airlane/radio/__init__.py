"""Radio: the channel of 3GPP, arithmetic of NR, delivery traces, outages and power of UEs."""
