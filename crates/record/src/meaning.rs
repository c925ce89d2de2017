//! The meaning of the columns of tables. Terminal, sweeps, comparisons and pages choose, head and compare columns by it, so
//! that no second list of columns is needed.

use std::borrow::Cow;

/// The direction in which a figure is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    More,
    /// Less is better.
    Less,
    /// It does not rank.
    #[default]
    Neither,
}

/// How the values of flows give that of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverFlows {
    /// Their sum.
    Sum,
    /// The mean over the flows that have a value.
    Mean,
}

/// The distribution of a figure over runs, which determines its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// That of a mean.
    #[default]
    Plain,
    /// That of a high quantile: skewed.
    Quantile,
}

/// A view that shows a column by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The table of a run on the terminal.
    Terminal,
    /// The short table of a result in Python.
    Summary,
    /// Sweeps.
    Sweep,
    /// Comparisons.
    Compare,
    /// The headline figures of a page.
    Tile,
    /// The panels of a run over time.
    Panel,
}

impl View {
    /// All views of figures of flows.
    pub const ALL: [Self; 5] = [Self::Terminal, Self::Summary, Self::Sweep, Self::Compare, Self::Tile];
}

/// A column as a figure of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// How flows are aggregated; `None` if they are not.
    pub over_flows: Option<OverFlows>,
    /// The better direction.
    pub better: Better,
    /// Its distribution over runs.
    pub scale: Scale,
    /// The smallest difference that matters, as a share; `None` for the usual one.
    pub least: Option<f64>,
    /// A short name, if it differs from the heading.
    pub brief: &'static str,
}

impl Figure {
    /// A figure that does not rank, and has no value of a run.
    pub const NEUTRAL: Self =
        Self { over_flows: None, better: Better::Neither, scale: Scale::Plain, least: None, brief: "" };
}

/// The meaning of a column. Its unit follows from the end of its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meaning {
    title: Cow<'static, str>,
    heading: &'static str,
    form: &'static str,
    figure: Option<Figure>,
    views: &'static [View],
    place: u32,
    rank: u32,
}

impl Meaning {
    /// Says in words, without the unit, what it is.
    pub fn means(&mut self, title: impl Into<Cow<'static, str>>) -> &mut Self {
        self.title = title.into();
        self
    }

    /// Sets the head of its column, where a line may break, and the format of a value (as Python's `format`).
    pub fn headed(&mut self, heading: &'static str, form: &'static str) -> &mut Self {
        (self.heading, self.form) = (heading, form);
        self
    }

    /// Makes it a figure of a run.
    pub fn figure(&mut self, figure: Figure) -> &mut Self {
        self.figure = Some(figure);
        self
    }

    /// Shows it by default, at this place among the columns that are shown.
    pub fn shown(&mut self, place: u32, views: &'static [View]) -> &mut Self {
        (self.place, self.views) = (place, views);
        self
    }

    /// The order in which a narrow terminal omits columns: the lowest first; zero never.
    pub fn omitted(&mut self, rank: u32) -> &mut Self {
        self.rank = rank;
        self
    }

    /// Keys and values of a column of this name, for the metadata of its field.
    #[must_use]
    pub fn pairs(&self, name: &str) -> Vec<(&'static str, String)> {
        let mut pairs = vec![("title", self.title.to_string()), ("unit", unit_of(name).to_owned())];
        let mut add = |key, value: &str| pairs.push((key, value.to_owned()));
        add("heading", self.heading);
        add("form", self.form);
        if !self.views.is_empty() {
            let views: Vec<&str> = self.views.iter().map(|view| view.name()).collect();
            add("views", &views.join(" "));
            add("place", &self.place.to_string());
        }
        if self.rank > 0 {
            add("rank", &self.rank.to_string());
        }
        if let Some(figure) = &self.figure {
            add("better", figure.better.name());
            add("scale", figure.scale.name());
            add("brief", figure.brief);
            add("over_flows", figure.over_flows.map_or("", OverFlows::name));
            add("least", &figure.least.map_or_else(String::new, |least| least.to_string()));
        }
        pairs.retain(|(_, value)| !value.is_empty());
        pairs
    }
}

/// Ends of names, and the units that they mean.
const UNITS: [(&str, &str); 13] = [
    ("_mbps", "Mbit/s"),
    ("_kbps", "kbit/s"),
    ("_bytes", "bytes"),
    ("_segments", "segments"),
    ("_percent", "%"),
    ("_last_second", ""),
    ("_us_from", "µs"),
    ("_us_below", "µs"),
    ("_db", "dB"),
    ("_ms", "ms"),
    ("_us", "µs"),
    ("_s", "s"),
    ("_m", "m"),
];

/// The unit at the end of a column's name; empty for counts, shares and names.
pub(crate) fn unit_of(name: &str) -> &'static str {
    UNITS.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

impl Better {
    const fn name(self) -> &'static str {
        match self {
            Self::More => "more",
            Self::Less => "less",
            Self::Neither => "neither",
        }
    }
}

impl OverFlows {
    const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
        }
    }
}

impl Scale {
    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Quantile => "quantile",
        }
    }
}

impl View {
    const fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Summary => "summary",
            Self::Sweep => "sweep",
            Self::Compare => "compare",
            Self::Tile => "tile",
            Self::Panel => "panel",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_says_unit_and_better_direction() {
        let mut meaning = Meaning::default();
        meaning.means("one-way delay").headed("OWD\nms", ".1f").shown(2, &[View::Terminal, View::Sweep]);
        meaning.figure(Figure {
            over_flows: Some(OverFlows::Mean),
            better: Better::Less,
            ..Figure::default()
        });
        let pairs = meaning.pairs("owd_ms");
        for pair in [("title", "one-way delay"), ("unit", "ms"), ("better", "less"), ("over_flows", "mean")] {
            assert!(pairs.iter().any(|(key, value)| (*key, value.as_str()) == pair), "{pair:?}: {pairs:?}");
        }
        assert!(pairs.contains(&("views", "terminal sweep".to_owned())));
        assert_eq!(Meaning::default().pairs("flow"), []);
        assert_eq!(["x_m", "harq_retx", "cubic_k_s", "page"].map(unit_of), ["m", "", "s", ""]);
    }
}
