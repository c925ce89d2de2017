//! Sites and UEs from CSV and GeoJSON files, and geographic movements.

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_radio::mobility::PathFollower;
use airlane_scenario::expand;
use airlane_scenario::files::{Files, path_of};
use airlane_scenario::format::{Antenna, Mobility, Resolved};
use airlane_scenario::{Scenario, schema};

const BASE: &str = r#"
[layout]
kind = "map"
sites = "sites.csv"
[[cell]]
name = "city"
[[ue]]
name = "user"
height = "1.5 m"
placement = { kind = "points", file = "users.csv" }
[[flow]]
to = "user"
"#;

/// Munich: a site with three sectors and one without azimuths.
const SITES: &str = "id,latitude,longitude,height,azimuths,tx_power_dbm\n\
                     north,48.2,11.7,25,0 120 240,46\n\
                     south,47.9,11.2,,,\n";
const USERS: &str = "id,lat,lon\nanna,48.137,11.575\nben,48.138,11.576\n";

fn resolve(text: &str, files: &[(&str, &str)]) -> Result<Resolved, String> {
    let owned = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    let files = Files::Given(Arc::new(owned.collect::<BTreeMap<_, _>>()));
    let scenario = Scenario::parse(text, "city.toml").map(|scenario| scenario.with_files(files));
    scenario.and_then(|scenario| scenario.resolve()).map_err(|e| e.to_string())
}

fn sites(sites: &str) -> Result<Resolved, String> {
    resolve(BASE, &[("sites.csv", sites), ("users.csv", USERS)])
}

fn users(users: &str) -> Result<Resolved, String> {
    resolve(BASE, &[("sites.csv", SITES), ("users.csv", users)])
}

fn names(scenario: &Resolved) -> Vec<&str> {
    scenario.cell.iter().map(|cell| cell.name.as_str()).collect()
}

fn places(scenario: &Resolved) -> Vec<[f64; 2]> {
    scenario.cell.iter().map(|cell| cell.position.map(|metres| metres.0)).collect()
}

fn azimuth(antenna: &Antenna) -> Option<f64> {
    match antenna {
        Antenna::Omni(_) => None,
        Antenna::Sector(sector) => Some(sector.azimuth.0),
        Antenna::Panel(panel) => Some(panel.azimuth.0),
    }
}

#[test]
fn degrees_are_projected_as_by_proj() {
    // PROJ 9.5.1: +proj=aeqd +lat_0=48.137 +lon_0=11.575 +ellps=WGS84, in metres to four digits.
    let expected = [[9292.0554, 7012.7480], [-28038.5152, -26283.9414]];
    let origin = "kind = \"map\"\norigin = { latitude = 48.137, longitude = 11.575 }";
    let text = BASE.replace("kind = \"map\"", origin);
    let city = resolve(&text, &[("sites.csv", SITES), ("users.csv", USERS)]).unwrap();
    for (site, expected) in [0, 3].into_iter().zip(expected) {
        let found = places(&city)[site];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 0.0006, "{:?}", places(&city));
        }
    }
    assert_eq!(city.ue[0].point(0).unwrap().position.map(|metres| metres.0), [0.0, 0.0]);
    // PROJ 9.5.1 about (-33.87, 151.2), and across the 180th meridian about (0, 179.99).
    for (origin, place, expected) in [
        ((-33.87, 151.2), "-33.9,151.25", [4624.6452, -3328.7342]),
        ((0.0, 179.99), "0.02,-179.98", [3339.5846, 2211.4856]),
    ] {
        let origin =
            format!("kind = \"map\"\norigin = {{ latitude = {:?}, longitude = {:?} }}", origin.0, origin.1);
        let text = BASE.replace("kind = \"map\"", &origin);
        let (sites, users) = (format!("lat,lon\n{place}\n"), format!("lat,lon\n{place}\n"));
        let place = places(&resolve(&text, &[("sites.csv", &sites), ("users.csv", &users)]).unwrap())[0];
        assert!((0..2).all(|axis| (place[axis] - expected[axis]).abs() <= 0.0006), "{place:?}");
    }
}

#[test]
fn the_origin_is_the_middle_of_the_sites() {
    let city = sites("lat,lon\n48.0,11.0\n48.2,11.0\n").unwrap();
    let [a, b] = [places(&city)[0], places(&city)[1]];
    assert_eq!([a[0], b[0]], [0.0, 0.0]);
    // Half of 0.2 degrees of a meridian that is 111.2 km a degree at 48.1° N.
    assert!((a[1] + b[1]).abs() < 0.5 && (b[1] - 11_120.0).abs() < 5.0, "{a:?} {b:?}");
    // The box crosses the 180th meridian.
    let users = "lat,lon\n0,180\n";
    let city =
        resolve(BASE, &[("sites.csv", "lat,lon\n0,179.99\n0,-179.99\n"), ("users.csv", users)]).unwrap();
    assert_eq!(places(&city)[0][0], -places(&city)[1][0]);
    assert!((places(&city)[1][0] - 1113.2).abs() < 0.1, "{:?}", places(&city));
}

#[test]
fn sites_set_names_heights_powers_and_azimuths_of_their_cells() {
    let city = sites(SITES).unwrap();
    assert_eq!(names(&city), ["city-north-1", "city-north-2", "city-north-3", "city-south"]);
    let heights: Vec<_> = city.cell.iter().map(|cell| cell.height.to_string()).collect();
    assert_eq!(heights[..3], ["25 m", "25 m", "25 m"]);
    assert_eq!(city.cell[2].tx_power.to_string(), "46 dBm");
    // Clockwise from north is 90 degrees less, counted from the east towards the north.
    let directions: Vec<_> = city.cell.iter().map(|cell| azimuth(&cell.antenna)).collect();
    assert_eq!(directions, [Some(90.0), Some(330.0), Some(210.0), None]);
    let own = SITES.replace("46\n", "46 dBm\n").replace("tx_power_dbm", "tx_power");
    assert_eq!(sites(&own).unwrap().cell, city.cell);
}

#[test]
fn a_table_may_be_written_in_many_ways() {
    let expected = sites(SITES).unwrap().cell;
    for text in [
        "\u{feff}ID,Latitude,LONGITUDE,Height [m],Azimuth (deg),TX Power (dBm)\r\nnorth,48.2,11.7,25,0 120 240,46\r\nsouth,47.9,11.2,,,\r\n",
        "id;lat;lon;height;azimuths;tx_power_dbm;operator\nnorth;48,2;11,7;25,0;\"0;120;240\";46;x\nsouth;47,9;11,2;;;;\n;;;;;;\n",
        "site\tlon\tlat\tantenna_height\tazimuths\tpower\n\"north\"\t11.7\t48.2\t25 m\t0/120/240\t46 dBm\nsouth\t11.2\t47.9\n",
        "\nname|lng|LAT|height_m|azimuth|tx_power_dbm\n north | 11.7 | 48.2 | 25 | 0, 120, 240 | 46\nsouth|11.2|47.9|||\n",
    ] {
        assert_eq!(sites(text).unwrap().cell, expected, "{text}");
    }
    let several = "cell_id,id,lat,lon,height,azimuths,tx_power_dbm\n\
                   1,north,48.2,11.7,25,0 120 240,46\n1,south,47.9,11.2,,,\n";
    assert_eq!(sites(several).unwrap().cell, expected);
    let point = |lon: f64, lat: f64, properties: &str| {
        format!(
            r#"{{"type": "Feature", "geometry": {{"type": "Point", "coordinates": [{lon}, {lat}, 520.0]}}, "properties": {properties}}}"#
        )
    };
    let text = format!(
        "{{\"type\": \"FeatureCollection\", \"crs\": {{\"type\": \"name\", \"properties\": {{\"name\": \"urn:ogc:def:crs:OGC:1.3:CRS84\"}}}}, \
         \"features\": [{}, {}]}}",
        point(
            11.7,
            48.2,
            r#"{"ID": "north", "height": 25, "azimuths": [0, 120, 240], "tx_power_dbm": 46, "lat": 1}"#
        ),
        point(11.2, 47.9, r#"{"ID": "south", "height": null}"#),
    );
    assert_eq!(sites(&text).unwrap().cell, expected);
}

#[test]
fn positions_in_metres_need_no_origin() {
    let city =
        resolve(BASE, &[("sites.csv", "x,y\n0,0\n500,-20.5\n"), ("users.csv", "x_m,y_m,height\n10,20,2\n")]);
    let city = city.unwrap();
    assert_eq!(names(&city), ["city-1", "city-2"]);
    assert_eq!(places(&city), [[0.0, 0.0], [500.0, -20.5]]);
    assert_eq!(city.ue[0].point(0).unwrap().height.unwrap().to_string(), "2 m");
}

#[test]
fn three_sectors_of_sites_without_azimuths_are_those_of_a_hexagonal_grid() {
    let text = BASE.replace("kind = \"map\"", "kind = \"map\"\nsectors = 3");
    let city = resolve(&text, &[("sites.csv", "x,y\n0,0\n"), ("users.csv", "x,y\n0,0\n")]).unwrap();
    let directions: Vec<_> = city.cell.iter().map(|cell| azimuth(&cell.antenna)).collect();
    assert_eq!(directions, [Some(30.0), Some(150.0), Some(270.0)]);
}

#[test]
fn users_have_their_names_and_movements() {
    let table =
        "id,lat,lon,speed,heading\nanna,48.137,11.575,36 km/h,90\nben 2,48.138,11.576,0,\n7,48.1,11.5,,\n";
    let text = table.replace("speed,", "speed_kmh,").replace("36 km/h", "36");
    let city = users(&text).unwrap();
    let all = expand::ues(&city);
    assert_eq!(
        all.iter().map(|ue| ue.name.as_str()).collect::<Vec<_>>(),
        ["user-anna", "user-ben 2", "user-7"]
    );
    let flows = expand::flows(&city);
    let flows: Vec<_> = flows.iter().map(|flow| (flow.name.as_str(), flow.ue)).collect();
    assert_eq!(flows, [("flow-1-anna", Some(0)), ("flow-1-ben 2", Some(1)), ("flow-1-7", Some(2))]);
    let point = city.ue[0].point(0).unwrap();
    // East is 90 degrees clockwise from north, the direction of the first axis.
    assert_eq!((point.heading.unwrap().0, point.speed.unwrap().to_string().as_str()), (0.0, "36 km/h"));
    assert_eq!(city.ue[0].point(1).unwrap().speed, None);
    // A flow to one member, by its id.
    let one = BASE.replace("to = \"user\"", "to = \"user-7\"");
    let city = resolve(&one, &[("sites.csv", SITES), ("users.csv", &text)]).unwrap();
    assert_eq!(expand::flows(&city)[0].ue, Some(2));
    // The first two, and without ids numbers.
    let two = BASE.replace("[[ue]]", "[[ue]]\ncount = 2");
    let city = resolve(&two, &[("sites.csv", SITES), ("users.csv", &text.replace("id,", "other,"))]).unwrap();
    assert_eq!(
        expand::ues(&city).iter().map(|ue| ue.name.as_str()).collect::<Vec<_>>(),
        ["user-1", "user-2"]
    );
}

#[test]
fn a_resolved_city_resolves_to_itself() {
    let city = sites(SITES).unwrap();
    assert_eq!(Resolved::from_json(&city.to_json()).unwrap(), city);
    assert!(city.files().is_empty() && city.layout.is_none());
    assert!(schema().contains("\"map\""));
}

#[test]
fn positions_may_be_written_in_the_scenario() {
    let place = "{ kind = \"points\", points = [{ position = [\"1 m\", \"2 m\"] }, { position = [\"3 m\", \"4 m\"] }] }";
    let text = BASE.replace("{ kind = \"points\", file = \"users.csv\" }", place);
    let city = resolve(&text, &[("sites.csv", SITES)]).unwrap();
    assert_eq!(city.ue[0].count, 2);
    assert_eq!(city.ue[0].point(1).unwrap().position.map(|metres| metres.0), [3.0, 4.0]);
}

#[test]
fn geographic_movements_have_the_origin_of_the_sites() {
    let fcd = "<!-- <fcd-output.geo value=\"true\"/> --><fcd-export>\
               <timestep time=\"0\"><vehicle id=\"a\" x=\"11.7\" y=\"48.2\"/></timestep></fcd-export>";
    let text = BASE
        .replace("kind = \"map\"", "kind = \"map\"\norigin = { latitude = 48.137, longitude = 11.575 }")
        .replace(
            "placement = { kind = \"points\", file = \"users.csv\" }",
            "mobility = { kind = \"trace\", file = \"fcd.xml\", node = 0 }",
        );
    let city = resolve(&text, &[("sites.csv", SITES), ("fcd.xml", fcd)]).unwrap();
    let Mobility::Trace(trace) = &city.ue[0].mobility else { panic!("not a trace") };
    let movements = airlane_radio::mobility::Movements::parse(fcd).unwrap();
    let path = path_of(&movements, trace, 0).unwrap();
    let start = PathFollower::new(path, 1.5).position_at(airlane_core::Instant::ZERO);
    // As the site at the same place.
    assert_eq!([start.x, start.y], places(&city)[0]);
    let far = fcd.replace("48.2", "58.2");
    let e = resolve(&text, &[("sites.csv", SITES), ("fcd.xml", &far)]).unwrap_err();
    assert!(e.contains("a position is 1120 km from the origin"), "{e}");
    let text = text.replace("[layout]\nkind = \"map\"\norigin = { latitude = 48.137, longitude = 11.575 }\nsites = \"sites.csv\"\n", "");
    let e = resolve(&text, &[("fcd.xml", fcd)]).unwrap_err();
    assert!(e.contains("need an origin"), "{e}");
    assert!(resolve(&text.replace("node = 0", "node = 0, geographic = false"), &[("fcd.xml", fcd)]).is_ok());
}

/// Wrong keys of the scenario: texts, and what replaces them.
const WRONG_KEYS: [(&str, &str); 17] = [
    ("sites = \"sites.csv\"", "sites = \"no.csv\""),
    ("sites = \"sites.csv\"\n", ""),
    ("file = \"users.csv\"", "file = \"no.csv\""),
    (", file = \"users.csv\"", ""),
    ("file = \"users.csv\"", "file = \"users.csv\", points = []"),
    ("file = \"users.csv\"", "points = []"),
    ("file = \"users.csv\"", "fill = \"users.csv\""),
    ("[[ue]]", "[[ue]]\ncount = 3"),
    ("[[ue]]", "[[ue]]\ncount = \"3\""),
    ("[[cell]]", "[[cell]]\nantenna = \"omni\""),
    ("[[cell]]", "[[cell]]\nposition = [\"0 m\", \"0 m\"]"),
    ("[[cell]]", "[[cell]]\nname = \"b\"\n[[cell]]"),
    ("kind = \"map\"", "kind = \"map\"\nsectors = 2"),
    ("kind = \"map\"", "kind = \"map\"\norigin = { latitude = 95, longitude = 0 }"),
    ("kind = \"map\"", "kind = \"map\"\norigin = { latitude = 0 }"),
    ("file = \"users.csv\"", "file = \"users.csv\", origin = { latitude = nan, longitude = 0 }"),
    ("[layout]\nkind = \"map\"\nsites = \"sites.csv\"\n", ""),
];

#[test]
fn errors_name_file_line_column_and_remedy() {
    let many = format!("x,y\n{}", "1,2\n".repeat(1001));
    let feature = |geometry: &str| {
        format!(
            "{{\"type\": \"FeatureCollection\", \"features\": [{{\"type\": \"Feature\", \"geometry\": {geometry}}}]}}"
        )
    };
    let sites_files = [
        "",
        "id,lat,lon\n",
        "12,48.1,11.5\n13,48.2,11.6\n",
        "a,b\n1,2\n",
        "id,lat\n1,48.1\n",
        "id,lat,lon\na,48.1,11.5\nb,,11.5\n",
        "id,lat,lon\na,48.1,11.5\nb,NaN,11.5\n",
        "id,lat,lon\na,48.1,11.5\nb,inf,11.5\n",
        "id,lat,lon\na,111.5,48.1\n",
        "id,lat,lon\na,48.1,11.5\na,48.2,11.5\n",
        "id,lat,lon\na,48.1,11.5\nb,48.1,11.5\n",
        "id,lat,lon\na,48.1,11.5\nb,11.5,48.1\n",
        "id,lat,lon,azimuths\na,48.1,11.5,0 120 0\n",
        "id,lat,lon,azimuths\na,48.1,11.5,north\n",
        "id,lat,lon,azimuths\na,48.1,11.5,400\n",
        "id,lat,lon,height\na,48.1,11.5,high\n",
        "id,lat,lon,tx_power\na,48.1,11.5,46\n",
        "id,lat,lon,frequency\na,48.1,11.5,1800\n",
        "id,lat,lon,frequency\na,48.1,11.5,1 s\n",
        "id,lat,lon,Lat\na,48.1,11.5,48.1\n",
        "id,lat,lon\na,48,1,11,5\n",
        "x,y\n1e9,0\n",
        &many,
        "{\"type\": \"FeatureCollection\"",
        "[1, 2]",
        "{\"type\": \"Topology\"}",
        "{\"type\": \"FeatureCollection\", \"features\": []}",
        &feature("{\"type\": \"LineString\", \"coordinates\": [[0, 0], [1, 1]]}"),
        &feature("null"),
        &feature("{\"type\": \"Point\", \"coordinates\": [\"11.5\", 48.1]}"),
        &feature("{\"type\": \"Point\", \"coordinates\": [48.1, 111.5]}"),
        "{\"type\": \"FeatureCollection\", \"crs\": {\"properties\": {\"name\": \"EPSG:25832\"}}, \"features\": []}",
    ];
    let users_files = [
        "id,lat,lon,speed_kmh\nanna,48.1,11.5,30\n",
        "id,lat,lon,speed,heading\nanna,48.1,11.5,30,0\n",
        "id,lat,lon\nanna,48.1,11.5\nanna,48.2,11.5\n",
        "id,lat,lon\nanna,11.5,48.1\n",
        "id,lat,lon,height\nanna,48.1,11.5,-\n",
    ];
    let mut printed: Vec<String> = sites_files.iter().map(|text| sites(text).unwrap_err()).collect();
    printed.extend(users_files.iter().map(|text| users(text).unwrap_err()));
    let files = [("sites.csv", SITES), ("users.csv", USERS)];
    for (from, to) in WRONG_KEYS {
        assert!(BASE.contains(from), "{from}");
        let e = resolve(&BASE.replacen(from, to, 1), &files).unwrap_err();
        printed.push(e);
    }
    crate::snapshots::compare(&printed.join("\n"), "map-errors.txt");
}
