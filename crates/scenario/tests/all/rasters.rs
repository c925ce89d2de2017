//! Losses from rasters: which cells have them, and wrong files.

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_scenario::Scenario;
use airlane_scenario::files::Files;
use airlane_scenario::format::Resolved;

const BASE: &str = r#"[layout]
kind = "map"
sites = "maps/sites.csv"
[[cell]]
name = "cell"
height = "120 m"
[channel]
path_loss = { kind = "tr36.814", scene = "uma" }
clutter_loss_map = "trees.asc"
[[ue]]
name = "user"
height = "30 m"
placement = { kind = "points", points = [{ id = "anna", position = ["10 m", "20 m"] }] }
[[flow]]
to = "user"
"#;
const SITES: &str = "id,x,y,azimuths,path_loss_map\na,0,0,0 180,a.asc\nb,500,0,,b.asc\n";
const A: &str =
    "ncols 2\nnrows 2\nxllcorner -50\nyllcorner -50\ncellsize 50\nNODATA_value -9999\n90 91\n-9999 93\n";
const B: &str = "ncols 2\nnrows 2\nxllcorner 400\nyllcorner -100\ncellsize 100\n90 91\n92 93\n";
const TREES: &str = "ncols 1\nnrows 1\nxllcorner -500\nyllcorner -500\ncellsize 1000\n3\n";

fn resolve(text: &str, changed: &[(&str, &str)]) -> Result<Resolved, String> {
    let files = [("maps/sites.csv", SITES), ("maps/a.asc", A), ("maps/b.asc", B), ("trees.asc", TREES)];
    let all = files.iter().chain(changed);
    let owned = all.map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    let files = Files::Given(Arc::new(owned.collect::<BTreeMap<_, _>>()));
    let scenario = Scenario::parse(text, "city.toml").map(|scenario| scenario.with_files(files));
    scenario.and_then(|scenario| scenario.resolve()).map_err(|e| e.to_string())
}

/// The files of sites are in the folder of their table. Heights of path-loss laws do not bind cells with a raster.
#[test]
fn the_cells_of_a_site_have_its_raster() {
    let city = resolve(BASE, &[]).unwrap();
    let maps: Vec<_> = city.cell.iter().map(|cell| cell.path_loss_map.as_deref()).collect();
    assert_eq!(maps, [Some("maps/a.asc"), Some("maps/a.asc"), Some("maps/b.asc")]);
    assert_eq!(city.files(), ["maps/a.asc", "maps/b.asc", "trees.asc"]);
    assert_eq!(Resolved::from_json(&city.to_json()).unwrap(), city);
    // One row for each sector, whose antenna is in its raster.
    let sectors = "id,x,y,path_loss_map\na-1,0,0,a.asc\na-2,0,0,b.asc\n";
    let city = resolve(BASE, &[("maps/sites.csv", sectors)]).unwrap();
    assert_eq!(city.cell.len(), 2);
}

#[test]
fn a_ue_may_start_where_one_of_its_cells_is_received() {
    let at = |x: &str, y: &str| BASE.replace("\"10 m\", \"20 m\"", &format!("\"{x} m\", \"{y} m\""));
    assert!(resolve(&at("450", "50"), &[]).is_ok(), "only in the raster of b");
    assert!(
        resolve(&at("450", "50").replace("name = \"user\"", "name = \"user\"\ncell = \"cell-b\""), &[])
            .is_ok()
    );
    // The second cell has no raster, and its law is everywhere.
    let sites = SITES.replace("b.asc", "");
    let low = |text: String| text.replace("120 m", "25 m").replace("30 m", "1.5 m");
    assert!(resolve(&low(at("300", "300")), &[("maps/sites.csv", &sites)]).is_ok());
    // Heights of the law bind as soon as one cell has it.
    let e = resolve(&at("300", "300"), &[("maps/sites.csv", &sites)]).unwrap_err();
    assert!(e.contains("outside the range of channel.path_loss"), "{e}");
}

#[test]
fn errors_name_file_line_value_and_remedy() {
    let many = format!("{} {}", A.replace("90 91\n-9999 93", ""), "90 ".repeat(5));
    let grids: Vec<String> = ["", "II*\u{0}binary", "id,x,y\n1,2,3\n", "ncols 2\nnrows 2\n90 91\n"]
        .map(str::to_owned)
        .into_iter()
        .chain(
            [
                ("ncols 2", "ncols two"),
                ("ncols 2", "ncols 2.5"),
                ("ncols 2", "ncols 0"),
                ("ncols 2", "ncols 1e7"),
                ("ncols 2", "ncols 2\nncols 2"),
                ("ncols 2", "ncols 2\ncolour 3"),
                ("ncols 2\n", ""),
                ("yllcorner", "yllcenter"),
                ("xllcorner -50", "xllcorner 1e8"),
                ("cellsize 50", "dx 50"),
                ("cellsize 50", "cellsize 0.00083"),
                ("cellsize 50", "cellsize inf"),
                ("93\n", "\n"),
                ("93\n", "93,5\n"),
                ("93\n", "-93\n"),
                ("93\n", "inf\n"),
                ("90 91\n-9999 93", "-9999 -9999 -9999 -9999"),
                ("90 91", "90 91 # north"),
            ]
            .map(|(from, to)| {
                assert!(A.contains(from), "{from}");
                A.replacen(from, to, 1)
            }),
        )
        .chain([many])
        .collect();
    let mut printed: Vec<String> =
        grids.iter().map(|text| resolve(BASE, &[("maps/a.asc", text)]).unwrap_err()).collect();
    printed.push(resolve(BASE, &[("trees.asc", &TREES.replace("\n3\n", "\n120\n"))]).unwrap_err());
    for (from, to) in [
        ("trees.asc", "no.asc"),
        ("\"10 m\", \"20 m\"", "\"10 m\", \"60 m\""),
        ("\"10 m\", \"20 m\"", "\"-40 m\", \"-40 m\""),
        ("\"10 m\", \"20 m\"", "\"900 m\", \"20 m\""),
        ("name = \"user\"", "name = \"user\"\ncell = \"cell-b\""),
        (
            "placement = { kind = \"points\", points = [{ id = \"anna\", position = [\"10 m\", \"20 m\"] }] }",
            "position = [\"0 m\", \"70 m\"]",
        ),
        ("name = \"cell\"", "name = \"cell\"\npath_loss_map = \"maps/a.asc\""),
    ] {
        assert!(BASE.contains(from), "{from}");
        let sites = if to.contains("path_loss_map") {
            SITES.replace("a.asc", "").replace("b.asc", "")
        } else {
            SITES.to_owned()
        };
        printed.push(resolve(&BASE.replacen(from, to, 1), &[("maps/sites.csv", &sites)]).unwrap_err());
    }
    let grid = BASE.replace(
        "kind = \"map\"\nsites = \"maps/sites.csv\"",
        "kind = \"hexagonal\"\nrings = 1\ninter_site_distance = \"500 m\"",
    );
    let grid = grid.replace("name = \"cell\"", "name = \"cell\"\npath_loss_map = \"maps/a.asc\"");
    printed.push(resolve(&grid, &[]).unwrap_err());
    printed.push(resolve(&grid.replace("rings = 1", "rings = 1\nwrap_around = true"), &[]).unwrap_err());
    crate::snapshots::compare(&printed.join("\n"), "raster-errors.txt");
}

/// Few bytes must not claim much memory, and many rasters not more than the limit.
#[test]
fn memory_is_bounded() {
    let claim = "ncols 3000 nrows 3000 xllcorner 0 yllcorner 0 cellsize 1 ";
    let e = resolve(BASE, &[("maps/a.asc", claim)]).unwrap_err();
    assert!(e.contains("there are 0 values"), "{e}");
    let large = format!("{claim}{}", "90 ".repeat(9_000_000));
    let sites: String = (0..6).map(|k| format!("{k},{k},0,{k}.asc\n")).collect();
    let sites = format!("id,x,y,path_loss_map\n{sites}");
    let names: Vec<_> = (0..6).map(|k| format!("maps/{k}.asc")).collect();
    let mut files: Vec<_> = names.iter().map(|name| (name.as_str(), large.as_str())).collect();
    files.push(("maps/sites.csv", &sites));
    let e = resolve(BASE, &files).unwrap_err();
    assert!(e.contains("too many cells; the limit is 50000000"), "{e}");
}
