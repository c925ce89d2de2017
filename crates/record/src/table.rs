//! Columns and tables: the output of a run for writers of files.

use std::io::{self, Write};

use airlane_core::{Direction, Duration};

use crate::meaning::Meaning;

/// A column of one type. A number that does not exist is `NaN` in an `F64` column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Real numbers.
    F64(Vec<f64>),
    /// Counts and identifiers.
    I64(Vec<i64>),
    /// Booleans.
    Bool(Vec<bool>),
    /// Names.
    Text(Vec<String>),
    /// Names with few distinct values.
    Labels {
        /// The names.
        labels: Vec<String>,
        /// For each row the index of its name.
        of: Vec<u32>,
    },
}

impl Column {
    /// A column of repeated names, for each row an index into them.
    #[must_use]
    pub(crate) fn labels(labels: &[impl AsRef<str>], of: impl IntoIterator<Item = u32>) -> Self {
        let labels = labels.iter().map(|name| name.as_ref().to_owned()).collect();
        Self::Labels { labels, of: of.into_iter().collect() }
    }

    /// The name in each row, if it is a column of names.
    #[must_use]
    pub fn names(&self) -> Option<Vec<&str>> {
        match self {
            Self::Text(values) => Some(values.iter().map(String::as_str).collect()),
            Self::Labels { labels, of } => Some(of.iter().map(|&at| labels[at as usize].as_str()).collect()),
            Self::F64(_) | Self::I64(_) | Self::Bool(_) => None,
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Labels { of, .. } => of.len(),
        }
    }

    /// Its values as bytes, for comparisons between builds: numbers little-endian, names terminated by a line
    /// feed each, for repeated names the indices.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::F64(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::I64(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::Bool(values) => values.iter().map(|&b| u8::from(b)).collect(),
            Self::Text(values) => values.iter().flat_map(|text| [text.as_bytes(), b"\n"].concat()).collect(),
            Self::Labels { of, .. } => of.iter().flat_map(|label| label.to_le_bytes()).collect(),
        }
    }

    /// True if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Named columns of equal length. Names carry units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name and values, in display order.
    pub columns: Vec<(String, Column)>,
    /// The meaning of each column, in the same order.
    meanings: Vec<Meaning>,
}

impl Table {
    /// Adds a column at the end, and returns its meaning to be completed.
    ///
    /// # Panics
    /// If its length differs from that of the others, or if its name exists.
    pub fn push(&mut self, name: &str, column: Column) -> &mut Meaning {
        assert!(self.column(name).is_none(), "two columns `{name}`");
        assert!(
            self.columns.is_empty() || column.len() == self.rows(),
            "column `{name}` has {} rows, the table {}",
            column.len(),
            self.rows()
        );
        self.columns.push((name.to_owned(), column));
        self.meanings.push(Meaning::default());
        self.meanings.last_mut().expect("it was pushed")
    }

    /// The columns with their names and what they mean.
    pub fn described(&self) -> impl Iterator<Item = (&str, &Column, &Meaning)> {
        let columns = self.columns.iter().zip(&self.meanings);
        columns.map(|((name, column), meaning)| (name.as_str(), column, meaning))
    }

    /// Adds a column of real numbers.
    pub fn push_f64(&mut self, name: &str, values: impl IntoIterator<Item = f64>) -> &mut Meaning {
        self.push(name, Column::F64(values.into_iter().collect()))
    }

    /// Adds a column of counts.
    pub fn push_count(&mut self, name: &str, values: impl IntoIterator<Item = u64>) -> &mut Meaning {
        let to_i64 = |value| i64::try_from(value).expect("a count stays below 2^63");
        self.push(name, Column::I64(values.into_iter().map(to_i64).collect()))
    }

    /// Adds a column of names.
    pub fn push_text<'a>(&mut self, name: &str, values: impl IntoIterator<Item = &'a str>) -> &mut Meaning {
        self.push(name, Column::Text(values.into_iter().map(str::to_owned).collect()))
    }

    /// Adds a column of names that were made for it.
    pub(crate) fn push_names(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = String>,
    ) -> &mut Meaning {
        self.push(name, Column::Text(values.into_iter().collect()))
    }

    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(other, _)| other == name).map(|(_, column)| column)
    }

    /// Writes for each column a line with table, column and number of bytes, and then its bytes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_bytes(&self, name: &str, out: &mut impl Write) -> io::Result<()> {
        for (column, values) in &self.columns {
            let bytes = values.to_bytes();
            writeln!(out, "{name} {column} {}", bytes.len())?;
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
}

/// The mean, or `NaN` if the count is zero.
pub(crate) fn ratio(sum: f64, count: u64) -> f64 {
    if count == 0 { f64::NAN } else { sum / count as f64 }
}

/// Bytes over a span as Mbit/s, rounded once; `NaN` for an empty span.
pub(crate) fn mbps(bytes: u64, span: Duration) -> f64 {
    Throughput::over(span).mbps(bytes)
}

/// The throughput of sums of bytes over one span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throughput {
    /// `NaN` for an empty span.
    span_ns: f64,
}

impl Throughput {
    pub(crate) fn over(span: Duration) -> Self {
        Self { span_ns: if span.is_zero() { f64::NAN } else { real(span.as_nanos()) } }
    }

    /// These bytes as Mbit/s, rounded once.
    #[inline]
    pub(crate) fn mbps(self, bytes: u64) -> f64 {
        real(bytes * 8_000) / self.span_ns
    }
}

/// A count below 2^63 as a real number. From a signed integer that is one instruction, from an unsigned one it is six.
#[inline]
pub(crate) fn real(count: u64) -> f64 {
    debug_assert!(i64::try_from(count).is_ok(), "{count} is no count");
    count.cast_signed() as f64
}

/// The name of a direction in tables.
pub(crate) const fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Downlink => "downlink",
        Direction::Uplink => "uplink",
    }
}
