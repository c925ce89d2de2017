use airlane_core::{Bytes, FlowId, Instant, Seeds};

use super::*;

fn record() -> UeRecord {
    UeRecord {
        measured_at: Instant::from_nanos(12_345_000_000),
        ue: ue_address(4),
        cell: 2,
        cqi: 15,
        mcs: 28,
        block: Bytes(2292),
        prbs: 25,
        queue: Bytes(10_240),
        harq: Harq::new([1, 0, 2, 0, 0, 0, 0, 1].into_iter()),
        cell_use: None,
    }
}

/// The bytes as documented in `docs/radio-information.md`.
#[test]
fn a_record_is_what_the_page_says() {
    let bytes = record().encode(3);
    let text = core::str::from_utf8(&bytes).unwrap();
    let page = include_str!("../../../../docs/radio-information.md");
    let shown: String = page
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap()
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .concat()
        .replace(": ", ":")
        .replace(", ", ",");
    assert_eq!(text, shown);
    assert_eq!(UeRecord::decode(&bytes), Ok(record()));
}

#[test]
fn a_request_is_read_as_it_was_written() {
    for until in [None, Some(Instant::from_millis(1500))] {
        let asked = Subscription { flow: FlowId(70_000), ue: ue_address(9_999), until };
        assert_eq!(Subscription::decode(&asked.encode()), Ok(asked));
        assert_eq!(UeRecord::decode(&asked.encode()), Err(Rejected::Malformed));
    }
    assert_eq!(Subscription::decode(&record().encode(3)), Err(Rejected::Malformed));
}

#[test]
fn addresses_lead_back_to_their_ue() {
    for ue in [0, 254, 255, 256, 9_999] {
        assert_eq!(ue_of(ue_address(ue)), Some(ue));
    }
    assert_eq!(ue_address(0), [10, 1, 0, 1]);
    for stranger in [[10, 1, 0, 0], [10, 0, 0, 1], [192, 168, 0, 1]] {
        assert_eq!(ue_of(stranger), None);
    }
}

/// Members that a service may add, and values that a consumer must reject.
#[test]
fn unknown_members_are_passed_over_and_impossible_values_are_not() {
    let text = String::from_utf8(record().encode(3)).unwrap();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        UeRecord::decode(text.replacen(from, to, 1).as_bytes())
    };
    assert_eq!(with("{", "{\"rsrp\":70,"), Ok(record()));
    assert_eq!(with("UeMacNotification", "UeMac\\u004eotification"), Ok(record()));
    for (from, to) in [
        ("\"cqi\":15", "\"cqi\":16"),
        ("\"mcs\":28", "\"mcs\":32"),
        ("\"prbs\":25", "\"prbs\":276"),
        ("2292", "171601"),
        ("[1,", "[29,"),
        ("[1,", "[1,0,0,0,0,0,0,0,0,1,"),
        ("\"nanoSeconds\":345000000", "\"nanoSeconds\":1000000000"),
        ("\"seconds\":12", "\"seconds\":18446744073709551615"),
        ("0000002", "10000000"),
    ] {
        assert_eq!(with(from, to), Err(Rejected::Impossible), "{to}");
    }
    for (from, to) in [
        ("UeMacNotification", "MeasRepUeNotification"),
        ("\"cqi\":15", "\"cqi\":-1"),
        ("\"cqi\":15", "\"cqi\":256"),
        ("\"cqi\":15", "\"cqi\":\"15\""),
        ("\"cqi\":15,", ""),
        ("10.1.0.5", "10.1.0.5000"),
        ("\"type\":1", "\"type\":2"),
        ("0000002", "two"),
    ] {
        assert_eq!(with(from, to), Err(Rejected::Malformed), "{to}");
    }
}

/// The counts of §2.3, which are absent unless a subscriber needs them.
#[test]
fn the_use_of_the_cell_is_read_as_it_was_written() {
    let counts = CellUse {
        offered_prbs: 12_345 * 25,
        used_prbs: 200_000,
        ue_prbs: 90_000,
        repeated_prbs: 8_000,
        ue_bytes: 7_000_000,
        active_ues: 3,
    };
    let record = UeRecord { cell_use: Some(counts), ..record() };
    let text = String::from_utf8(record.encode(3)).unwrap();
    let page = include_str!("../../../../docs/radio-information.md");
    let shown = "\"x-airlane-cell-use\": {";
    assert!(page.contains(shown) && text.contains(&shown.replace(' ', "")));
    assert_eq!(UeRecord::decode(text.as_bytes()), Ok(record));
    for (from, to) in [
        ("\"uePrbs\":90000", "\"uePrbs\":200001"),
        ("\"repeatedPrbs\":8000", "\"repeatedPrbs\":90001"),
        ("\"activeUes\":3", "\"activeUes\":0"),
    ] {
        assert!(text.contains(from), "{from}");
        assert_eq!(
            UeRecord::decode(text.replacen(from, to, 1).as_bytes()),
            Err(Rejected::Impossible),
            "{to}"
        );
    }
}

/// A byte is changed, removed or inserted at random: the decoder must return a result.
#[test]
fn damaged_bytes_are_survived() {
    let (bytes, mut s) = (record().encode(3), Seeds::new(1).stream("damage"));
    let mut rejected = 0;
    for _ in 0..20_000 {
        let mut damaged = bytes.clone();
        for _ in 0..=s.below(3) {
            let at = s.below(damaged.len() as u64) as usize;
            match s.below(3) {
                0 => damaged[at] = s.below(256) as u8,
                1 => drop(damaged.remove(at)),
                _ => damaged.insert(at, s.below(256) as u8),
            }
        }
        rejected += u32::from(UeRecord::decode(&damaged).is_err());
    }
    assert!(rejected > 10_000, "{rejected}");
    assert_eq!(UeRecord::decode(&[b'['; 4096]), Err(Rejected::Malformed));
    assert_eq!(UeRecord::decode(&vec![b' '; 1 << 20]), Err(Rejected::Malformed));
}

#[test]
fn a_consumer_takes_what_is_about_its_ue_and_not_from_the_future() {
    let consumer = Consumer::new(FlowId(0), ue_address(4));
    let at = record().measured_at;
    let bytes = record().encode(3);
    assert_eq!(consumer.accept(&bytes, at), Ok(record()));
    assert_eq!(consumer.accept(&bytes, Instant::ZERO), Err(Unused::FromTheFuture));
    let other = UeRecord { ue: ue_address(5), ..record() }.encode(3);
    assert_eq!(consumer.accept(&other, at), Err(Unused::OtherUe));
    assert_eq!(consumer.accept(b"{}", at), Err(Unused::Rejected(Rejected::Malformed)));
}
