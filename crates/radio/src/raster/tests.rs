use super::*;

const SMALL: &str = "ncols 3\nnrows 2\nxllcorner 100\nyllcorner 200\ncellsize 10\nNODATA_value -9999\n\
                     80 90 100\n60 70 -9999\n";

fn parse(text: &str) -> Result<Raster, RasterError> {
    Raster::parse(text, LossKind::PathLoss)
}

fn loss(raster: &Raster, x: f64, y: f64) -> Option<f64> {
    raster.at(&Position { x, y, z: 1.5 }).map(|loss| loss.0)
}

/// Centres at x = 105, 115 and 125; at y = 205 with 60, 70 and none, at y = 215 with 80, 90 and 100.
#[test]
fn losses_between_centres_are_bilinear() {
    let raster = parse(SMALL).unwrap();
    for (x, y, expected) in [
        (105.0, 205.0, 60.0),
        (125.0, 215.0, 100.0),
        (107.5, 205.0, 62.5),                                    // a quarter of 10 dB
        (105.0, 212.5, 75.0),                                    // three quarters of 20 dB
        (110.0, 210.0, 75.0),                                    // (60 + 70 + 80 + 90) / 4
        (108.0, 211.0, 0.4 * (60.0 + 3.0) + 0.6 * (80.0 + 3.0)), // 0.3 and 0.6 of the ways
        (100.0, 200.0, 60.0),                                    // the corners of the raster
        (100.0, 220.0, 80.0),
        (130.0, 220.0, 100.0),
        (119.9, 209.0, 70.0), // next to a cell without a value
        (121.0, 214.0, 100.0),
    ] {
        let found = loss(&raster, x, y).unwrap();
        assert!((found - expected).abs() < 1e-12, "({x}, {y}): {found} dB and not {expected}");
    }
    for (x, y) in
        [(125.0, 205.0), (120.1, 209.9), (99.9, 205.0), (130.1, 215.0), (105.0, 220.1), (f64::NAN, 205.0)]
    {
        assert_eq!(loss(&raster, x, y), None, "({x}, {y})");
    }
    assert_eq!(raster.extent(), [[100.0, 200.0], [130.0, 220.0]]);
}

#[test]
fn one_row_or_column_is_linear_in_the_other() {
    let row = parse("ncols 2 nrows 1 xllcorner 0 yllcorner 0 cellsize 4\n10 20").unwrap();
    assert_eq!(loss(&row, 4.0, 0.1), Some(15.0));
    let one = parse("ncols 1 nrows 1 xllcorner 0 yllcorner 0 cellsize 4\n10").unwrap();
    assert_eq!(loss(&one, 3.9, 0.1), Some(10.0));
}

/// The spellings of Esri's description and of GDAL's writer.
#[test]
fn a_grid_may_be_written_in_many_ways() {
    let expected = parse(SMALL).unwrap();
    for text in [
        SMALL.replace("xllcorner 100\nyllcorner 200", "xllcenter 105\nyllcenter 205"),
        SMALL.to_uppercase().replace('\n', "\r\n"),
        SMALL.replace("NODATA_value -9999\n", ""),
        SMALL.replace("-9999", "-3.40282346638529e+38"),
        SMALL.replace("-9999", "nan"),
        SMALL.replace("80 90 100", " 8.0e1\t90.000\n\n1E2 "),
        SMALL.replace("cellsize 10", "dx 10.0\ndy 1e1"),
        format!("\u{feff}{}", SMALL.replace('\n', " ")),
    ] {
        let found = parse(&text).unwrap();
        assert_eq!(
            (found.extent(), format!("{:?}", found.losses)),
            (expected.extent(), format!("{:?}", expected.losses)),
            "{text}"
        );
    }
    let oblong = parse(&SMALL.replace("cellsize 10", "dx 10\ndy 20")).unwrap();
    assert_eq!(oblong.extent(), [[100.0, 200.0], [130.0, 240.0]]);
    assert_eq!(loss(&oblong, 105.0, 225.0), Some(75.0));
}

/// Steps of 10, 10 and 10 dB in the rows, and of 20 and 20 dB between them: the mean square is (3 * 100 + 2 * 400) / 5.
#[test]
fn roughness_is_that_of_neighbouring_cells() {
    let (sigma, distance) = parse(SMALL).unwrap().roughness();
    assert!((sigma - 110.0_f64.sqrt()).abs() < 1e-12 && distance == 10.0, "{sigma} {distance}");
    let flat = parse("ncols 2 nrows 2 xllcorner 0 yllcorner 0 cellsize 4 9 9 9 9").unwrap();
    assert_eq!(flat.roughness(), (0.0, 4.0));
}

#[test]
fn a_file_has_as_many_values_as_its_header_says() {
    let header = "ncols 3000 nrows 3000 xllcorner 0 yllcorner 0 cellsize 1";
    let error = parse(&format!("{header} 1 2 3")).unwrap_err();
    assert!(error.message.contains("there are 3 values"), "{error:?}");
}
