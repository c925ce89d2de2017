use super::*;

fn calibration(scenario: ChannelScenario) -> Calibration {
    let channel = LargeScale::new(ChannelReport::Tr38901, scenario, 6e9);
    Calibration::new(channel, Panel::new(10, 1, 102.0)).unwrap()
}

#[test]
fn nineteen_sites_that_repeat_themselves() {
    let layout = SiteLayout::hexagonal(500.0, 25.0);
    let mut stream = Seeds::new(1).stream("test");
    for _ in 0..500 {
        let ue = layout.place(35.0, &mut stream);
        let sites = layout.sites_around(&ue);
        let mut away: Vec<f64> = sites.iter().map(|site| site.ground_distance(&ue)).collect();
        away.sort_by(f64::total_cmp);
        assert_eq!(away.len(), 19);
        // The cell is the hexagon around its site: its corners are 500 / sqrt 3 = 288.68 m away.
        assert!((35.0..=288.68).contains(&away[0]), "{}", away[0]);
        // Whatever the site, the seven nearest are those of an endless grid, the farthest of which is at most a
        // site distance and a corner away; and no site is farther than the repeated cluster is wide.
        assert!(away[6] <= 788.7 && away[18] <= 500.0 * 19.0_f64.sqrt() / 2.0 * 1.16, "{away:?}");
    }
}

#[test]
fn each_site_has_the_same_neighbourhood() {
    let layout = SiteLayout::hexagonal(200.0, 10.0);
    let centre = layout.sites_around(&Position::default());
    for site in &centre {
        let mut away: Vec<f64> = layout.sites_around(site).iter().map(|s| s.ground_distance(site)).collect();
        away.sort_by(f64::total_cmp);
        // Six at one distance, six at sqrt 3, six at two.
        let expected =
            [(0, 0.0), (1, 200.0), (6, 200.0), (7, 346.41), (12, 346.41), (13, 400.0), (18, 400.0)];
        for (index, distance) in expected {
            assert!((away[index] - distance).abs() < 0.01, "{index}: {away:?}");
        }
    }
}

#[test]
fn the_hall_of_an_office() {
    let sites = SiteLayout::hall(3.0).sites_around(&Position::default());
    assert_eq!(sites.len(), 12);
    assert_eq!(sites[0], Position { x: -50.0, y: -10.0, z: 3.0 });
    assert_eq!(sites[11], Position { x: 50.0, y: 10.0, z: 3.0 });
}

#[test]
fn a_longer_drop_begins_with_the_same_ues() {
    let run = |ues| calibration(ChannelScenario::UrbanMicro).run(ues, Seeds::new(3));
    let (short, long) = (run(20), run(60));
    assert_eq!(short.coupling_gain_db, long.coupling_gain_db[..20]);
    assert_eq!(short.geometry_db, long.geometry_db[..20]);
    assert_ne!(run(20), calibration(ChannelScenario::UrbanMicro).run(20, Seeds::new(4)));
}

#[test]
fn heights_and_walls_of_a_drop() {
    let calibration = calibration(ChannelScenario::UrbanMacro);
    let mut stream = Seeds::new(5).stream("test");
    let ues: Vec<Dropped> = (0..4000).map(|_| calibration.drop_ue(&mut stream)).collect();
    let share =
        |wanted: &dyn Fn(&Dropped) -> bool| ues.iter().filter(|ue| wanted(ue)).count() as f64 / 4000.0;
    assert!((share(&|ue| ue.entry.is_some()) - 0.8).abs() < 0.03);
    let low = |ue: &Dropped| ue.entry.is_some_and(|entry| entry.building == BuildingType::LowLoss);
    assert!((share(&low) - 0.4).abs() < 0.03);
    assert!(ues.iter().all(|ue| ue.entry.is_some() || ue.position.z == 1.5));
    // The eighth floor: in one of five buildings, one of eight floors, of 80 %: 2 %.
    assert!((share(&|ue| ue.position.z == 22.5) - 0.02).abs() < 0.01);
    // Any of the floors 1 to 4 is as likely as another: (1/4 + 1/5 + 1/6 + 1/7 + 1/8) / 5 = 0.17690 of 80 %.
    assert!((share(&|ue| ue.position.z == 10.5) - 0.1415).abs() < 0.02);
}

#[test]
fn every_ue_has_a_serving_sector() {
    for scenario in [ChannelScenario::UrbanMicro, ChannelScenario::MixedOffice, ChannelScenario::OpenOffice] {
        let curves = calibration(scenario).run(200, Seeds::new(6));
        assert_eq!((curves.coupling_gain_db.len(), curves.geometry_db.len()), (200, 200));
        // Loss, at least of the free space of 2 m less 18 dBi; and of three sectors the best is not below the
        // two others together.
        assert!(curves.coupling_gain_db.iter().all(|gain| (-250.0..-30.0).contains(gain)));
        assert!(curves.geometry_db.iter().all(|geometry| (-18.0..=60.0).contains(geometry)));
    }
}

#[test]
fn readings_of_the_drop() {
    let drop = |readings: &[Reading]| calibration(ChannelScenario::UrbanMicro).with_readings(readings);
    let least = |readings: &[Reading]| {
        let (drop, mut stream) = (drop(readings), Seeds::new(7).stream("test"));
        let away = |ue: &Dropped| {
            let to = |site: &Position| site.ground_distance(&ue.position);
            drop.layout.sites_around(&ue.position).iter().map(to).fold(f64::INFINITY, f64::min)
        };
        let ues: Vec<Dropped> = (0..4000).map(|_| drop.drop_ue(&mut stream)).collect();
        let outdoors = |ue: &Dropped| away(ue) - ue.entry.map_or(0.0, |entry| entry.inside_m);
        ues.iter().map(outdoors).fold(f64::INFINITY, f64::min)
    };
    assert!(least(&[]) >= 10.0);
    // 10 m away and up to 25 m in a building: the part outdoors would be negative.
    assert!(least(&[Reading::LeastDistanceOfWhole]) < 0.0);
    // Shadowing chooses another site for some.
    let gains = |readings: &[Reading]| drop(readings).run(200, Seeds::new(8)).coupling_gain_db;
    let by_path_loss = gains(&[Reading::AttachmentByPathLoss]);
    let pairs: Vec<(f64, f64)> = gains(&[]).into_iter().zip(by_path_loss).collect();
    assert!(pairs.iter().all(|(best, other)| other <= best));
    assert!((20..150).contains(&pairs.iter().filter(|(best, other)| other < best).count()));
}
