//! Tables of places: CSV or GeoJSON as rows of texts, each with its place in the file.

use serde_json::Value;

use super::column::Column;
use crate::ScenarioError;

/// Maximum length of a file in bytes: 10,000 rows of 1,600 bytes. The limit bounds the memory for reading.
const LENGTH_MAX: usize = 16 << 20;

/// A table of places.
pub(super) struct PlaceTable {
    file: String,
    pub(super) rows: Vec<Row>,
    /// Columns with their units, in the order of `Row::cells`.
    columns: Vec<Heading>,
}

/// A column of the file.
struct Heading {
    column: Column,
    /// The unit that its heading names.
    unit: Option<&'static str>,
    /// The heading in the file.
    written: String,
}

/// A row, or a feature of GeoJSON.
pub(super) struct Row {
    /// Line of the file, of a CSV file.
    line: Option<u32>,
    /// Its number from 1.
    pub(super) number: usize,
    /// Trimmed texts, empty where there is none.
    cells: Vec<String>,
}

/// A text of a row, and the unit of its column.
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
    pub(super) unit: Option<&'static str>,
}

impl PlaceTable {
    /// Reads a file of at most `rows_max` rows.
    ///
    /// # Errors
    /// If it is neither CSV with a heading nor GeoJSON with points, or too long.
    pub(super) fn read(text: &str, file: &str, rows_max: usize) -> Result<Self, ScenarioError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut table = Self { file: file.to_owned(), rows: Vec::new(), columns: Vec::new() };
        if text.len() > LENGTH_MAX {
            let message = format!("the file has {} bytes", text.len());
            return Err(
                table.wrong(message, format!("the limit is {LENGTH_MAX}; leave out what is not needed"))
            );
        }
        if text.trim_start().starts_with(['{', '[']) {
            table.read_geojson(text, rows_max)?;
        } else {
            table.read_csv(text, rows_max)?;
        }
        if table.rows.is_empty() {
            return Err(table.wrong("the file has no row with a place", "add a row with a position"));
        }
        Ok(table)
    }

    /// Whether the file has a column.
    pub(super) fn has(&self, column: Column) -> bool {
        self.columns.iter().any(|heading| heading.column == column)
    }

    /// The cell of a column, if it is not empty.
    pub(super) fn cell<'a>(&self, row: &'a Row, column: Column) -> Option<Cell<'a>> {
        let at = self.columns.iter().position(|heading| heading.column == column)?;
        let text = row.cells.get(at).map(String::as_str).filter(|text| !text.is_empty())?;
        Some(Cell { text, unit: self.columns[at].unit })
    }

    /// The error for a cell.
    pub(super) fn wrong_cell(
        &self,
        row: &Row,
        column: Column,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ScenarioError {
        let heading = self.columns.iter().find(|heading| heading.column == column);
        let key = heading.map_or(column.name(), |heading| heading.written.as_str());
        let key = if row.line.is_some() { key.to_owned() } else { format!("feature {}, {key}", row.number) };
        let mut error = self.wrong(message, help);
        error.value =
            self.cell(row, column).map(|cell| format!("{:?}", cut(cell.text))).unwrap_or_default().into();
        error.key = key.into();
        error.line = row.line;
        error
    }

    /// The error for the file.
    pub(super) fn wrong(&self, message: impl Into<String>, help: impl Into<String>) -> ScenarioError {
        ScenarioError::new("", message.into(), help.into()).in_file(&self.file)
    }

    fn read_csv(&mut self, text: &str, rows_max: usize) -> Result<(), ScenarioError> {
        let head = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let counts =
            [b',', b';', b'\t', b'|'].map(|byte| (head.bytes().filter(|b| *b == byte).count(), byte));
        let delimiter =
            counts.into_iter().rev().max_by_key(|(count, _)| *count).map_or(b',', |(_, byte)| byte);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut sources: Option<Vec<usize>> = None;
        let mut width = 0;
        for record in reader.records() {
            let record =
                record.map_err(|e| self.wrong(format!("not CSV: {e}"), "check the quotes of its fields"))?;
            let line = record.position().and_then(|position| u32::try_from(position.line()).ok());
            if record.iter().all(str::is_empty) {
                continue;
            }
            let Some(from) = &sources else {
                width = record.len();
                sources = Some(self.headings(record.iter(), line)?);
                continue;
            };
            if record.iter().skip(width).any(|field| !field.is_empty()) {
                let message = format!("the row has {} fields, and the heading {width}", record.len());
                let help = "put a field with a delimiter in quotes; with decimal commas, delimit by ;";
                return Err(ScenarioError { line, ..self.wrong(message, help) });
            }
            let is_decimal_comma = delimiter != b',';
            let cells = from.iter().zip(&self.columns).map(|(at, heading)| {
                let text = record.get(*at).unwrap_or_default();
                let is_number = is_decimal_comma && heading.column.is_one_number() && !text.contains('.');
                if is_number { text.replacen(',', ".", 1) } else { text.to_owned() }
            });
            let row = Row { line, number: self.rows.len() + 1, cells: cells.collect() };
            self.push(row, rows_max)?;
        }
        Ok(())
    }

    /// Takes the headings that are known; the places of their columns.
    fn headings<'a>(
        &mut self,
        fields: impl Iterator<Item = &'a str>,
        line: Option<u32>,
    ) -> Result<Vec<usize>, ScenarioError> {
        let fields: Vec<&str> = fields.collect();
        let mut sources = Vec::new();
        for (at, field) in fields.iter().enumerate() {
            let Some((column, unit)) = Column::of_heading(field) else { continue };
            let heading = Heading { column, unit, written: (*field).to_owned() };
            if let Some(known) = self.columns.iter().position(|other| other.column == column) {
                if column != Column::Id {
                    let message =
                        format!("two columns are the {}: {:?} is the second", column.name(), cut(field));
                    let error = self.wrong(message, "leave out one of them, or give it another heading");
                    return Err(ScenarioError { line, ..error });
                }
                // Tables of sites have several names: the most usual one counts.
                if Column::rank(field) < Column::rank(&self.columns[known].written) {
                    (self.columns[known], sources[known]) = (heading, at);
                }
                continue;
            }
            self.columns.push(heading);
            sources.push(at);
        }
        if sources.is_empty() {
            let message = format!("no column is known among {}", cut(&fields.join(", ")));
            let help =
                "the first row must be a heading, such as id,latitude,longitude,height,azimuths or id,x,y";
            return Err(ScenarioError { line, ..self.wrong(message, help) });
        }
        Ok(sources)
    }

    fn read_geojson(&mut self, text: &str, rows_max: usize) -> Result<(), ScenarioError> {
        let help = "expected a FeatureCollection of features with points (RFC 7946)";
        let json: Value = serde_json::from_str(text).map_err(|e| {
            let line = u32::try_from(e.line()).ok();
            ScenarioError { line, ..self.wrong(format!("not JSON: {e}"), help) }
        })?;
        self.only_degrees(&json)?;
        let single = core::slice::from_ref(&json);
        let features = match json.get("type").and_then(Value::as_str) {
            Some("FeatureCollection") => json.get("features").and_then(Value::as_array).map(Vec::as_slice),
            Some("Feature") => Some(single),
            _ => None,
        };
        let Some(features) = features else { return Err(self.wrong("not a FeatureCollection", help)) };
        let degrees = |column: Column| Heading { column, unit: None, written: column.name().to_owned() };
        self.columns = vec![degrees(Column::Longitude), degrees(Column::Latitude)];
        for feature in features.iter().take(rows_max + 1) {
            for (name, _) in feature.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let known =
                    Column::of_heading(name).filter(|(column, _)| !self.has(*column) && !column.is_place());
                self.columns.extend(known.map(|(column, unit)| Heading {
                    column,
                    unit,
                    written: name.clone(),
                }));
            }
        }
        for (index, feature) in features.iter().enumerate() {
            let row = self.feature(index, feature)?;
            self.push(row, rows_max)?;
        }
        Ok(())
    }

    /// The coordinates of GeoJSON are degrees in WGS 84 (RFC 7946 section 4). Its predecessor had a member for others.
    fn only_degrees(&self, json: &Value) -> Result<(), ScenarioError> {
        let Some(crs) = json.get("crs").filter(|crs| !crs.is_null()) else { return Ok(()) };
        let name = crs.pointer("/properties/name").and_then(Value::as_str).unwrap_or_default();
        if name.ends_with("CRS84") || name.ends_with(":4326") {
            return Ok(());
        }
        let message = format!("the coordinate reference system is {:?}", cut(name));
        Err(self.wrong(
            message,
            "convert the file to longitude and latitude in WGS 84 (ogr2ogr -t_srs EPSG:4326)",
        ))
    }

    /// The row of a feature.
    fn feature(&self, index: usize, feature: &Value) -> Result<Row, ScenarioError> {
        let geometry = feature.get("geometry");
        let kind = geometry.and_then(|geometry| geometry.get("type")).and_then(Value::as_str);
        let coordinates = geometry.and_then(|geometry| geometry.get("coordinates")).and_then(Value::as_array);
        let place =
            coordinates.filter(|_| kind == Some("Point")).and_then(|all| Some([all.first()?, all.get(1)?]));
        let Some(place) = place.filter(|place| place.iter().all(|degrees| degrees.is_number())) else {
            let what = kind.filter(|kind| *kind != "Point");
            let message = what.map_or("no coordinates".to_owned(), |kind| format!("a {}", cut(kind)));
            let mut error = self.wrong(
                message,
                "each feature must have a Point with [longitude, latitude]; leave out others",
            );
            error.key = format!("feature {}, geometry", index + 1).into();
            return Err(error);
        };
        let properties = feature.get("properties");
        let texts = self.columns[2..].iter().map(|heading| {
            let text = |value: &Value| match value {
                Value::Null => String::new(),
                Value::String(text) => text.trim().to_owned(),
                Value::Array(items) => {
                    let items =
                        items.iter().map(|item| item.as_str().map_or(item.to_string(), str::to_owned));
                    items.collect::<Vec<_>>().join(" ")
                }
                other => other.to_string(),
            };
            properties.and_then(|all| all.get(&heading.written)).map(text).unwrap_or_default()
        });
        let cells = place.map(ToString::to_string).into_iter().chain(texts).collect();
        Ok(Row { line: None, number: index + 1, cells })
    }

    fn push(&mut self, row: Row, rows_max: usize) -> Result<(), ScenarioError> {
        if self.rows.len() >= rows_max {
            let help = "cut the area, or leave out rows";
            return Err(self.wrong(format!("the file has more than {rows_max} rows"), help));
        }
        self.rows.push(row);
        Ok(())
    }
}

/// The text, shortened to fit on a line and without control characters.
pub(super) fn cut(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { '?' } else { c });
    let mut short: String = printable.take(60).collect();
    if text.chars().nth(60).is_some() {
        short += "...";
    }
    short
}
