//! Random layouts, handover, throttling, captures and logs; and scenarios in which no flow has an excuse.

use airlane_core::Stream;

use super::one_of;

/// The relations between the cells of a scenario.
pub(super) struct Cells {
    /// Sections other than those of the cells.
    sections: String,
    layout: bool,
    /// Cells in addition to those that are drawn elsewhere.
    more: u64,
    /// The RLC mode of all cells, if it is fixed, and otherwise whether one may be transparent.
    rlc: Option<&'static str>,
    throttling: String,
    rank: &'static str,
}

impl Cells {
    pub(super) fn draw(s: &mut Stream) -> Self {
        let layout = s.chance(0.15);
        let more = if layout || s.chance(0.75) { 0 } else { 1 + s.below(3) };
        let mut cells = Self {
            sections: String::new(),
            layout,
            more,
            rlc: s.chance(0.08).then_some("tm"),
            throttling: String::new(),
            rank: if s.chance(0.4) { "adaptive" } else { "full" },
        };
        if layout {
            cells.sections += &hexagons(s);
        }
        if (layout || more > 0) && s.chance(0.7) {
            let (mode, rlc) =
                [("lossless", "am"), ("seamless", "am"), ("seamless-um", "um")][s.below(3) as usize];
            cells.rlc = Some(rlc);
            cells.sections += &handover(s, mode);
        } else if s.chance(0.15) {
            cells.throttling = format!(
                "early_throttling = {{ bearers = {}, within = \"{} ms\", ramp = \"{} ms\", hold = \"{} ms\", \
                 by = \"{}\" }}\n",
                1 + s.below(6),
                1 + s.below(400),
                s.below(300),
                s.below(500),
                one_of(s, &["share", "queue"]),
            );
        }
        cells
    }

    /// The number of cells in the file, given the number drawn elsewhere.
    pub(super) fn count(&self, drawn: u64) -> u64 {
        if self.layout { 1 } else { drawn + self.more }
    }

    pub(super) fn is_layout(&self) -> bool {
        self.layout
    }

    pub(super) fn rlc<'a>(&self, drawn: &'a str) -> &'a str {
        self.rlc.unwrap_or(drawn)
    }

    pub(super) fn rank(&self) -> &str {
        self.rank
    }

    pub(super) fn throttling(&self) -> &str {
        &self.throttling
    }

    pub(super) fn sections(&self) -> &str {
        &self.sections
    }

    /// Sometimes lets the UEs of a static group move from cell to cell.
    pub(super) fn moved(&self, ues: String, s: &mut Stream) -> String {
        if !s.chance(0.5) {
            return ues;
        }
        let line = format!(
            "placement = {{ kind = \"disc\", radius = \"200 m\" }}\nmobility = {{ kind = \"line\", \
             heading = \"{} deg\", speed = \"{} m/s\" }}\n",
            s.below(360),
            1 + s.below(49)
        );
        let still = "placement = { kind = \"disc\", radius = \"200 m\" }\n[[ue]]";
        let moved = ues.replace(still, &format!("{line}[[ue]]"));
        match moved.strip_suffix(still.trim_end_matches("[[ue]]")) {
            Some(others) => format!("{others}{line}"),
            None => moved,
        }
    }
}

fn hexagons(s: &mut Stream) -> String {
    let many = if s.chance(0.3) { "rings = 1".to_owned() } else { format!("sites = {}", 2 + s.below(4)) };
    format!(
        "[layout]\nkind = \"hexagonal\"\n{many}\ninter_site_distance = \"{} m\"\nsectors = {}\n",
        500 + s.below(900),
        one_of(s, &["1", "3"])
    )
}

fn handover(s: &mut Stream, mode: &str) -> String {
    // From settings that cause constant handovers to settings that almost never cause one.
    format!(
        "[handover]\nmode = \"{mode}\"\na3_offset = \"{} dB\"\nhysteresis = \"{} dB\"\n\
         time_to_trigger = \"{} ms\"\nl3_filter = {}\nmeasurement_period = \"{} ms\"\n\
         report_interval = \"{} ms\"\nreport_delay = \"{} ms\"\npreparation = \"{} ms\"\n\
         command_delay = \"{} ms\"\ninterruption = \"{} ms\"\nradio_link_failure = {}\nn310 = {}\n\
         t310 = \"{} ms\"\n[x2]\ndelay = \"{} ms\"\n",
        s.below(11) as i64 - 6,
        s.below(4),
        s.below(4) * 40,
        one_of(s, &["0", "4", "8"]),
        10 + s.below(200),
        40 + s.below(400),
        s.below(20),
        s.below(20),
        s.below(20),
        s.below(60),
        s.chance(0.6),
        1 + s.below(4),
        s.below(5) * 50,
        s.below(30),
    )
}

/// The outputs of a run besides its tables.
pub(super) fn output(s: &mut Stream, wired: bool) -> String {
    if !s.chance(0.35) {
        return String::new();
    }
    let places = if wired { &["server", "ue"][..] } else { &["server", "ue", "s1-u"] };
    let named: Vec<String> =
        places.iter().filter(|_| s.chance(0.6)).map(|place| format!("\"{place}\"")).collect();
    let mut text = format!("[output]\npcap = [{}]\nsnaplen = \"{} B\"\n", named.join(", "), 1 + s.below(300));
    text += &format!("losses = {}\n", s.chance(0.5));
    text += &format!("ran_log = {}\ndeliveries = {}\n", !wired && s.chance(0.5), !wired && s.chance(0.5));
    text
}

/// One open cell with UEs near it and wide links: no flow has an excuse.
pub(super) fn open(s: &mut Stream) -> String {
    let fading = match one_of(s, &["none", "flat", "epa", "eva", "etu"]) {
        "none" => "\"none\"".to_owned(),
        model => format!("{{ model = \"{model}\", speed = \"{} km/h\" }}", 30 + s.below(90)),
    };
    let mut text = format!(
        "network = \"{}\"\n[run]\nduration = \"2500 ms\"\n[channel]\nfading = {fading}\n\
         [internet]\nrate = \"{} Mbit/s\"\ndelay = \"{} ms\"\nqueue = \"{} B\"\naqm = {}\n\
         [backhaul]\nrate = \"1 Gbit/s\"\naqm = {}\n",
        one_of(s, &["lena", "typical"]),
        40 + s.below(100),
        s.below(40),
        20_000 + s.below(300_000),
        queue_rule_of(s),
        queue_rule_of(s),
    );
    text += &format!(
        "[[cell]]\nname = \"cell\"\nposition = [\"0 m\", \"0 m\"]\nresource_blocks = {}\nscheduler = \"{}\"\n\
         transmission_mode = \"{}\"\nrlc = {{ mode = \"{}\", buffer = \"{} B\", aqm = {} }}\n\
         mac = {{ mcs_rule = \"{}\", amc = \"{}\", rank = \"{}\", cqi_report = \"{}\" }}\n",
        one_of(s, &["15", "25", "50", "100"]),
        one_of(s, &["pf", "rr", "bet", "pss"]),
        one_of(s, &["siso", "tm2", "tm3"]),
        one_of(s, &["am", "um"]),
        10_000 + s.below(500_000),
        queue_rule_of(s),
        one_of(s, &["worst-subband", "effective"]),
        one_of(s, &["mutual-information", "piro"]),
        one_of(s, &["full", "adaptive"]),
        one_of(s, &["subband", "wideband"]),
    );
    for ue in 0..=s.below(4) {
        let (x, y) = (20 + s.below(150), s.below(150));
        let controller = one_of(s, &["cubic", "newreno", "vegas", "westwood", "bbr", "bbr3"]);
        text += &format!(
            "[[ue]]\nname = \"ue-{ue}\"\nposition = [\"{x} m\", \"{y} m\"]\n[[flow]]\nto = \"ue-{ue}\"\n\
             start = \"{} ms\"\ntransport = {{ kind = \"tcp\", congestion = \"{controller}\" }}\n",
            s.below(300)
        );
    }
    text
}

fn queue_rule_of(s: &mut Stream) -> String {
    let rule = one_of(s, &["drop-tail", "red", "codel", "fq-codel", "pie", "dualpi2", "abc"]);
    format!("\"{rule}\"")
}
