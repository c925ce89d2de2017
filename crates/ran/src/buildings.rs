//! UEs in buildings: the floor, the wall and the depth of each, drawn when it is built.

use airlane_core::Stream;
use airlane_radio::large_scale::{BuildingEntry, BuildingType};

use crate::config::BuildingLaw;

/// The place of a UE in its building.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Indoors {
    /// The way through the wall and behind it.
    pub(crate) entry: BuildingEntry,
    /// Height of the floor above the ground in metres.
    pub(crate) above_m: f64,
}

impl Indoors {
    /// Draws whether a UE is indoors, and where. The draws are the same in number for each UE.
    pub(crate) fn draw(law: &BuildingLaw, stream: &mut Stream) -> Option<Self> {
        let indoor = stream.chance(law.indoor);
        let low_loss = stream.uniform();
        let building = match law.low_loss {
            None => BuildingType::TwentyDecibels,
            Some(share) if low_loss < share => BuildingType::LowLoss,
            Some(_) => BuildingType::HighLoss,
        };
        let entry = BuildingEntry::draw(building, law.depth_m, stream);
        let [fewest, most] = law.storeys.map(u64::from);
        let storeys = fewest + stream.below(most - fewest + 1);
        let above_m = law.storey_m * stream.below(storeys) as f64;
        indoor.then_some(Self { entry, above_m })
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    #[test]
    fn shares_and_floors_of_tr_36_873() {
        let law =
            BuildingLaw { indoor: 0.8, low_loss: Some(0.5), depth_m: 25.0, storeys: [4, 8], storey_m: 3.0 };
        let mut stream = Seeds::new(1).stream("test");
        let drawn: Vec<_> = (0..4000).map(|_| Indoors::draw(&law, &mut stream)).collect();
        let share = |wanted: &dyn Fn(&Indoors) -> bool| {
            drawn.iter().flatten().filter(|one| wanted(one)).count() as f64 / 4000.0
        };
        assert!((share(&|_| true) - 0.8).abs() < 0.03);
        assert!((share(&|one| one.entry.building == BuildingType::LowLoss) - 0.4).abs() < 0.03);
        // Any of the first four floors: (1/4 + 1/5 + 1/6 + 1/7 + 1/8) / 5 = 0.17690 of 80 %.
        assert!((share(&|one| one.above_m == 9.0) - 0.1415).abs() < 0.02);
        assert!(drawn.iter().flatten().all(|one| one.above_m <= 21.0 && one.entry.inside_m <= 25.0));
        let constant = BuildingLaw { indoor: 1.0, low_loss: None, ..law };
        let walls = (0..100).map(|_| Indoors::draw(&constant, &mut stream).unwrap().entry.building);
        assert!(walls.into_iter().all(|wall| wall == BuildingType::TwentyDecibels));
    }
}
