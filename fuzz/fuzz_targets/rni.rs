//! Bytes are either rejected as radio information, or encode to the same information again; a discriminator
//! handles any accepted contents.
#![no_main]

use airlane_core::{Bytes, FlowId, Instant};
use airlane_net::rni::{Consumer, Subscription, UeRecord, ue_address};
use airlane_transport::congestion::{
    LossDiscriminator, LossEpisode, Meld, MeldConfig, MeldVariant, RadioInformation,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let now = Instant::from_millis(1000);
    if let Ok(record) = UeRecord::decode(data) {
        assert_eq!(UeRecord::decode(&record.encode(1)), Ok(record));
        judge(&record, now);
    }
    if let Ok(asked) = Subscription::decode(data) {
        assert_eq!(Subscription::decode(&asked.encode()), Ok(asked));
    }
    let consumer = Consumer::new(FlowId(0), ue_address(0));
    if let Ok(record) = consumer.accept(data, now) {
        assert!(record.ue == ue_address(0) && record.measured_at <= now);
    }
});

fn judge(record: &UeRecord, now: Instant) {
    let mut meld = Meld::new(MeldConfig::as_run(MeldVariant::Me, Bytes(2292)));
    meld.on_radio_information(&RadioInformation {
        measured_at: record.measured_at,
        transport_block: record.block,
        resource_blocks: record.prbs,
        cqi: record.cqi,
        queue: record.queue,
    });
    let episode = LossEpisode {
        now,
        in_flight_segments: 10,
        window_segments: 10,
        marked: false,
        lost_segments: 1,
        newest_lost: 0,
    };
    let _ = meld.classify(&episode);
}
