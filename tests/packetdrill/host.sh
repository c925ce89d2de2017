# The settings of the host in these scripts; they are interpreted, never run.
sysctl -q net.ipv4.tcp_rmem="4096 540000 $((15*1024*1024))"
sysctl -q net.ipv4.tcp_timestamps=1 net.ipv4.tcp_sack=1 net.ipv4.tcp_congestion_control=cubic
sysctl -q net.ipv4.tcp_syn_retries=5 net.ipv4.tcp_synack_retries=5 net.ipv4.tcp_ecn=0
sysctl -q net.ipv4.tcp_slow_start_after_idle=0
