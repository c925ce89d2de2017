# Four nodes as SUMO's traceExporter writes them: round a block, there and back, a stop, never moving.
$node_(0) set X_ 50.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 0.0
$node_(1) set X_ 180.0
$node_(1) set Y_ -20.0
$node_(1) set Z_ 0.0
$node_(2) set X_ 0.0
$node_(2) set Y_ 120.0
$node_(2) set Z_ 0.0
$node_(3) set X_ -90.0
$node_(3) set Y_ 30.0
$node_(3) set Z_ 0.0
$ns_ at 0.0 "$node_(0) setdest 50.0 5.0 13.9"
$ns_ at 0.1 "$node_(1) setdest 150.0 -20.0 27.8"
$ns_ at 0.2 "$node_(2) setdest 0.0 90.0 50.0"
$ns_ at 0.36 "$node_(0) setdest 45.0 5.0 13.9"
$ns_ at 0.5 "$node_(2) setdest 0.0 90.0 0.0"
$ns_ at 0.6 "$node_(1) setdest 180.0 -20.0 27.8"
$ns_ at 0.72 "$node_(0) setdest 45.0 0.0 13.9"
