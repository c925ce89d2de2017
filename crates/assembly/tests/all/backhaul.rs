//! Links in series between core and cells: the path of a scenario, measured in the tables.

use airlane_assembly::{RunOutput, run};
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, Scenario};

/// One UE near its cell, with datagrams of 1264 bytes on S1-U (1200 + 28 of UDP and IPv4 + 36 of the tunnel)
/// every 9.61 ms, so at all phases of a slot.
fn datagrams(backhaul: &str) -> String {
    format!(
        "[run]\nduration = \"20 s\"\nwarmup = \"1 s\"\n\
         [[cell]]\nname = \"a\"\n[channel]\nfading = \"none\"\n\
         [[ue]]\nname = \"phone\"\nposition = [\"100 m\", \"0 m\"]\n\
         {backhaul}\n\
         [[flow]]\nto = \"phone\"\ntransport = \"udp\"\n\
         app = {{ kind = \"cbr\", rate = \"998959 bit/s\", payload = \"1200 B\" }}\n"
    )
}

fn resolved(text: &str) -> Resolved {
    Scenario::parse(text, "x.toml").and_then(|scenario| scenario.resolve()).unwrap_or_else(|e| panic!("{e}"))
}

fn simulate(text: &str) -> RunOutput {
    let output = run(&resolved(text), 1).unwrap();
    assert!(output.meta.conserved, "{:?}", output.meta);
    output
}

fn table<'a>(output: &'a RunOutput, name: &str) -> &'a Table {
    &output.tables.iter().find(|(other, _)| *other == name).unwrap().1
}

fn reals(output: &RunOutput, column: &str) -> Vec<f64> {
    match table(output, "flows").column(column) {
        Some(Column::F64(values)) => values.clone(),
        other => panic!("{column}: {other:?}"),
    }
}

/// Each link adds its delay and its transmission time: a router forwards a packet when it has received all of
/// it.
#[test]
fn links_in_series_add_delay_and_serialisation() {
    let owd_ms = |backhaul: &str| reals(&simulate(&datagrams(backhaul)), "owd_ms")[0];
    let one = "[backhaul]\nrate = \"10 Mbit/s\"\ndelay = \"6 ms\"";
    let alone = owd_ms(one);
    // 1264 bytes at 10 Mbit/s take 1.0112 ms. The mean wait for the next slot of the radio is half a slot in
    // either case.
    for (hops, links, delay_ms) in [
        ("hop = [{ delay = \"2 ms\" }, { delay = \"3 ms\" }, { delay = \"1 ms\" }]", 3.0, 6.0),
        ("hop = [{}, {}]", 2.0, 12.0),
        ("hop = [{ shared = true }, { shared = true, delay = \"1 ms\" }, { delay = \"2 ms\" }]", 3.0, 9.0),
        ("hop = [{ rate = \"1 Gbit/s\" }, { delay = \"0 ms\" }]", 1.01, 6.0),
    ] {
        let longer_ms = owd_ms(&format!("{one}\n{hops}")) - alone;
        let by_hand = (delay_ms - 6.0) + (links - 1.0) * 1.0112;
        assert!((longer_ms - by_hand).abs() < 0.05, "{hops}: {longer_ms} ms longer, by hand {by_hand}");
    }
}

/// A list of one link is the same as a link without a list, to the byte.
#[test]
fn one_hop_is_no_other_path() {
    for shared in [false, true] {
        let text = |hop: &str| datagrams(&format!("[backhaul]\nshared = {shared}\naqm = \"pie\"\n{hop}"));
        let (without, with) = (simulate(&text("")), simulate(&text("hop = [{}]")));
        assert_eq!(format!("{:?}", without.tables), format!("{:?}", with.tables));
    }
}

/// A download over a path whose narrow link is the first, the second, or both: the queue, with its
/// discipline, is at the narrow link.
#[test]
fn each_link_has_a_queue_of_its_own() {
    let owd_ms = |hops: &str| {
        let text =
            datagrams(&format!("[backhaul]\nrate = \"1 Gbit/s\"\nqueue = \"256 KiB\"\nhop = [{hops}]"));
        let (before, _) = text.split_once("[[flow]]").unwrap();
        reals(&simulate(&format!("{before}[[flow]]\nto = \"phone\"\n")), "owd_ms")[0]
    };
    let narrow = "rate = \"10 Mbit/s\"";
    let codel = format!("{narrow}, aqm = \"codel\"");
    // 256 KiB take 210 ms at 10 Mbit/s; CUBIC keeps at least 70 % of it filled. CoDel aims at 5 ms.
    for hops in [format!("{{ {narrow} }}, {{}}"), format!("{{}}, {{ {narrow} }}")] {
        let full = owd_ms(&hops);
        assert!(full > 120.0, "{hops}: {full} ms");
        let managed = hops.replace(narrow, &codel);
        let short = owd_ms(&managed);
        assert!(short < 60.0, "{managed}: {short} ms");
    }
    // A discipline on the wide link has no effect.
    let full = owd_ms(&format!("{{ {narrow} }}, {{ aqm = \"codel\" }}"));
    assert!(full > 120.0, "{full} ms");
}

/// Cells that share the first link share its rate; the second link, one per cell, is not a bottleneck.
#[test]
fn a_shared_link_carries_all_cells_and_the_next_one_each() {
    let goodput = |hops: &str| {
        let text = format!(
            "[run]\nduration = \"6 s\"\nwarmup = \"2 s\"\n[channel]\nfading = \"none\"\n\
             [[cell]]\nname = \"west\"\nposition = [\"0 m\", \"0 m\"]\n\
             [[cell]]\nname = \"east\"\nposition = [\"2000 m\", \"0 m\"]\n\
             [backhaul]\nrate = \"8 Mbit/s\"\nhop = [{hops}]\n\
             [[ue]]\nname = \"a\"\nposition = [\"50 m\", \"0 m\"]\n\
             [[ue]]\nname = \"b\"\nposition = [\"1950 m\", \"0 m\"]\n\
             [[flow]]\nto = \"a\"\n[[flow]]\nto = \"b\"\n"
        );
        reals(&simulate(&text), "goodput_mbps").iter().sum::<f64>()
    };
    // 1448 of 1536 bytes are payload: 7.54 of 8 Mbit/s.
    let both = goodput("{ shared = true, rate = \"1 Gbit/s\" }, { shared = false }");
    assert!((14.0..15.1).contains(&both), "{both} Mbit/s over a link each");
    let one = goodput("{ shared = true }, { shared = false }");
    assert!((7.0..7.55).contains(&one), "{one} Mbit/s over one link");
}

/// Missing keys of a link are taken from the backhaul; a discipline of another kind has the settings of
/// the presets.
#[test]
fn what_a_link_leaves_out_is_as_the_backhaul_says() {
    let text = "[backhaul]\nrate = \"50 Mbit/s\"\nshared = true\nqueue = \"1 MB\"\n\
                aqm = { kind = \"red\", min_packets = 30, max_packets = 90 }\n\
                hop = [{}, { delay = \"7 ms\", aqm = { kind = \"red\", max_packets = 60 } }, \
                { shared = false, aqm = \"codel\" }, { shared = false, aqm = { min_packets = 40 } }]";
    let resolved = resolved(&datagrams(text));
    let json: serde_json::Value = serde_json::from_str(&resolved.to_json()).unwrap();
    let hops = &json["backhaul"]["hop"];
    let red = |hop: usize| (&hops[hop]["aqm"]["min_packets"], &hops[hop]["aqm"]["max_packets"]);
    assert_eq!((red(0).0.as_u64(), red(0).1.as_u64()), (Some(30), Some(90)));
    assert_eq!((red(1).0.as_u64(), red(1).1.as_u64()), (Some(30), Some(60)));
    assert_eq!((red(3).0.as_u64(), red(3).1.as_u64()), (Some(40), Some(90)));
    assert_eq!((&hops[2]["aqm"]["kind"], &hops[2]["aqm"]["target"]), (&"codel".into(), &"5 ms".into()));
    for hop in 0..4 {
        assert_eq!((&hops[hop]["rate"], &hops[hop]["queue"]), (&"50 Mbit/s".into(), &"1 MB".into()));
    }
    assert_eq!(hops[1]["delay"], "7 ms");
    assert_eq!(hops[0]["delay"], json["backhaul"]["delay"]);
    // The resolved scenario resolves to itself; without a list, none is written.
    assert_eq!(Resolved::from_json(&resolved.to_json()).unwrap(), resolved);
    let plain: serde_json::Value = serde_json::from_str(&self::resolved(&datagrams("")).to_json()).unwrap();
    assert!(plain["backhaul"].get("hop").is_none());
}
