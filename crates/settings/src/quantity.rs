//! Quantities: each is a number and its unit in one text, such as
//! "28 ms", "512 KiB" or "1 Gbit/s".
//!
//! Parsing is exact: the number stays decimal until it is in the base unit. Printing chooses the
//! largest unit that gives an integer (times, sizes, rates) or the customary one (the rest), and
//! the printed text parses to the same value.

use core::fmt;

use airlane_core::{BitRate, Bytes, Dbm, Decibel, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::decimal::Decimal;
use crate::reader::HELP;

/// A unit: `1 name` is `factor * 10^shift` of the base unit.
struct Unit {
    name: &'static str,
    factor: u64,
    shift: i32,
    /// True if it is used for printing; the others are only parsed.
    printed: bool,
}

const fn unit(name: &'static str, factor: u64, shift: i32) -> Unit {
    Unit { name, factor, shift, printed: true }
}

const fn alias(name: &'static str, factor: u64, shift: i32) -> Unit {
    Unit { name, factor, shift, printed: false }
}

/// A kind of quantity. Units are in ascending order.
struct Kind {
    /// With its article, as in "a time".
    name: &'static str,
    units: &'static [Unit],
    /// An example, as in "30 s".
    example: &'static str,
    /// Limits in the base unit.
    low: f64,
    high: f64,
    /// The limits as a text.
    limits: &'static str,
    /// True if the base unit has only integers.
    whole: bool,
}

impl Kind {
    fn unit_names(&self) -> String {
        let names: Vec<_> = self.units.iter().filter(|u| u.printed).map(|u| u.name).collect();
        names.join(", ")
    }

    fn error<E: de::Error>(&self, message: &str, help: &str) -> E {
        E::custom(format!("{message}{HELP}{help}"))
    }

    /// The error for a number without a unit.
    fn bare<E: de::Error>(&self, number: &str) -> E {
        let main = self.example.rsplit(' ').next().unwrap_or_default();
        let message = format!("{} needs a unit", self.name);
        let of_one = number.parse().ok().filter(|part: &f64| main == "%" && *part > 0.0 && *part < 1.0);
        let percent = of_one.map_or(String::new(), |part| {
            format!("\"{} %\" for the fraction {number}, or ", (part * 1e8).round() / 1e6)
        });
        let help = format!("write {percent}\"{number} {main}\"; units: {}", self.unit_names());
        self.error(&message, &help)
    }

    /// The error for a value that is not a text.
    fn misplaced<E: de::Error>(&self, what: &str) -> E {
        let help = format!("expected {}, such as \"{}\"", self.name, self.example);
        self.error(&format!("wrong type: found {what}"), &help)
    }

    /// The number in the base unit.
    fn parse<E: de::Error>(&self, text: &str) -> Result<Decimal, E> {
        let text = text.trim();
        let found = self.units.iter().find_map(|u| {
            let number = Decimal::parse(text.strip_suffix(u.name)?.trim_end())?;
            Some((number, u))
        });
        let Some((number, unit)) = found else {
            if Decimal::parse(text).is_some() {
                return Err(self.bare(text));
            }
            let message = format!("\"{text}\" is not {}", self.name);
            let help = format!(
                "write a number and a unit, such as \"{}\"; units: {}",
                self.example,
                self.unit_names()
            );
            return Err(self.error(&message, &help));
        };
        let base = number.times(unit.factor).map(|n| n.shifted(unit.shift));
        let within = base.filter(|b| (self.low..=self.high).contains(&b.to_f64()));
        let Some(base) = within else {
            let sign = number.is_negative() && self.low >= 0.0;
            let message =
                if sign { format!("{} cannot be negative", self.name) } else { "out of range".to_owned() };
            return Err(self.error(&message, &format!("it must be {}", self.limits)));
        };
        if self.whole && base.to_u64().is_none() {
            let smallest = self.units[0].name;
            let message = format!("too fine: the resolution is 1 {smallest}");
            return Err(self.error(&message, &format!("write a whole number of {smallest}")));
        }
        Ok(base)
    }

    /// The base number in the largest printed unit that keeps it an integer; zero in the unit of
    /// the example.
    fn print_whole(&self, base: u64) -> String {
        let main = self.example.rsplit(' ').next().unwrap_or_default();
        if base == 0 {
            return format!("0 {main}");
        }
        let mut best = (base, self.units[0].name);
        for u in self.units.iter().filter(|u| u.printed) {
            let scale = 10_u64.checked_pow(u.shift as u32).and_then(|s| s.checked_mul(u.factor));
            if let Some(scale) = scale.filter(|s| base.is_multiple_of(*s))
                && base / scale < best.0
            {
                best = (base / scale, u.name);
            }
        }
        format!("{} {}", best.0, best.1)
    }

    /// The base number in the largest printed unit of which it is at least one.
    fn print_real(&self, base: f64) -> String {
        let number = Decimal::from_f64(base).expect("a quantity is finite since it was read");
        let fits = |u: &&Unit| u.printed && u.factor == 1 && number.shifted(-u.shift).magnitude() >= 1;
        let u = self.units.iter().rev().find(fits).unwrap_or(&self.units[0]);
        format!("{} {}", number.shifted(-u.shift), u.name)
    }

    fn schema(&self) -> Schema {
        let escape = |name: &str| {
            name.chars()
                .flat_map(|c| "/()^".contains(c).then_some('\\').into_iter().chain([c]))
                .collect::<String>()
        };
        let names: Vec<_> = self.units.iter().map(|u| escape(u.name)).collect();
        let number = r"[+-]?([0-9][0-9_]*\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?";
        json_schema!({
            "type": "string",
            "pattern": format!(r"^\s*{number}\s*({})\s*$", names.join("|")),
            "description": format!("{} with its unit ({}), {}.", capitalised(self.name), self.unit_names(), self.limits),
            "examples": [self.example],
        })
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(chars).collect()
}

/// Deserializes a quantity of this kind; also explains numbers without a unit.
struct Read(&'static Kind);

impl<'de> Visitor<'de> for Read {
    type Value = Decimal;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} such as \"{}\"", self.0.name, self.0.example)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Decimal, E> {
        self.0.parse(text)
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Decimal, E> {
        Err(self.0.bare(&number.to_string()))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Decimal, E> {
        if number.is_finite() {
            return Err(self.0.bare(&number.to_string()));
        }
        Err(self.0.error(
            &format!("{number} is not a finite number"),
            &format!("write {} such as \"{}\"", self.0.name, self.0.example),
        ))
    }
    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Decimal, E> {
        Err(self.0.misplaced("a boolean"))
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, _: A) -> Result<Decimal, A::Error> {
        Err(self.0.misplaced("a list"))
    }
    fn visit_map<A: de::MapAccess<'de>>(self, _: A) -> Result<Decimal, A::Error> {
        Err(self.0.misplaced("a table"))
    }
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident: $inner:ty, $kind:expr, from $from:expr, print $print:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(pub $inner);

        impl $name {
            const KIND: &'static Kind = &$kind;
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let print: fn(&Kind, $inner) -> String = $print;
                f.write_str(&print(Self::KIND, self.0))
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let convert: fn(Decimal) -> $inner = $from;
                from.deserialize_any(Read(Self::KIND)).map(|base| Self(convert(base)))
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                Self::KIND.schema()
            }
        }
    };
}

fn whole(base: Decimal) -> u64 {
    base.to_u64().expect("checked when it was parsed")
}

quantity!(
    /// A span of time, or a point in time counted from the start of the run; whole nanoseconds.
    Time: Duration,
    Kind {
        name: "a time",
        units: &[
            unit("ns", 1, 0),
            unit("us", 1, 3),
            alias("µs", 1, 3),
            unit("ms", 1, 6),
            unit("s", 1, 9),
            alias("min", 60, 9),
            alias("h", 3600, 9),
        ],
        example: "30 s",
        low: 0.0,
        high: 1e15,
        limits: "between 0 s and 1000000 s",
        whole: true,
    },
    from |base| Duration::from_nanos(whole(base)),
    print |kind, time| kind.print_whole(time.as_nanos())
);

quantity!(
    /// A number of bytes.
    Size: Bytes,
    Kind {
        name: "a size",
        units: &[
            unit("B", 1, 0),
            unit("kB", 1, 3),
            unit("KiB", 1024, 0),
            unit("MB", 1, 6),
            unit("MiB", 1 << 20, 0),
            unit("GB", 1, 9),
            unit("GiB", 1 << 30, 0),
        ],
        example: "512 KiB",
        low: 0.0,
        high: 1e12,
        limits: "between 0 B and 1000 GB (kB is 1000 B, KiB is 1024 B)",
        whole: true,
    },
    from |base| Bytes(whole(base)),
    print |kind, size| kind.print_whole(size.get())
);

quantity!(
    /// A rate in bits per second.
    Rate: BitRate,
    Kind {
        name: "a bit rate",
        units: &[
            unit("bit/s", 1, 0),
            unit("kbit/s", 1, 3),
            unit("Mbit/s", 1, 6),
            unit("Gbit/s", 1, 9),
            alias("bps", 1, 0),
            alias("kbps", 1, 3),
            alias("Mbps", 1, 6),
            alias("Gbps", 1, 9),
        ],
        example: "10 Mbit/s",
        low: 1.0,
        high: 1e13,
        limits: "between 1 bit/s and 10000 Gbit/s",
        whole: true,
    },
    from |base| BitRate(whole(base)),
    print |kind, rate| kind.print_whole(rate.bits_per_second())
);

quantity!(
    /// A coordinate or a distance in metres.
    Metres: f64,
    Kind {
        name: "a length",
        units: &[unit("m", 1, 0), alias("km", 1, 3)],
        example: "100 m",
        low: -1e7,
        high: 1e7,
        limits: "within 10000 km",
        whole: false,
    },
    from Decimal::to_f64,
    print Kind::print_real
);

quantity!(
    /// A speed in km/h.
    Speed: f64,
    Kind {
        name: "a speed",
        units: &[unit("km/h", 1, 0), Unit { name: "m/s", factor: 36, shift: -1, printed: true }],
        example: "60 km/h",
        low: 0.0,
        high: 2000.0,
        limits: "between 0 and 2000 km/h",
        whole: false,
    },
    from Decimal::to_f64,
    print Kind::print_real
);

impl Speed {
    /// The speed in metres per second.
    #[must_use]
    pub fn metres_per_second(self) -> f64 {
        self.0 / 3.6
    }
}

quantity!(
    /// The square of a speed's deviation, in (km/h)^2.
    SpeedVariance: f64,
    Kind {
        name: "a variance of speeds",
        units: &[
            unit("(km/h)^2", 1, 0),
            alias("(km/h)²", 1, 0),
            Unit { name: "(m/s)^2", factor: 1296, shift: -2, printed: false },
            Unit { name: "(m/s)²", factor: 1296, shift: -2, printed: false },
        ],
        example: "5 (km/h)^2",
        low: 0.0,
        high: 4e6,
        limits: "between 0 and 4000000 (km/h)^2",
        whole: false,
    },
    from Decimal::to_f64,
    print Kind::print_real
);

quantity!(
    /// A frequency in Hz.
    Frequency: f64,
    Kind {
        name: "a frequency",
        units: &[unit("Hz", 1, 0), unit("kHz", 1, 3), unit("MHz", 1, 6), unit("GHz", 1, 9)],
        example: "2.12 GHz",
        low: 1e3,
        high: 3e11,
        limits: "between 1 kHz and 300 GHz",
        whole: false,
    },
    from Decimal::to_f64,
    print Kind::print_real
);

quantity!(
    /// A transmit power.
    Power: Dbm,
    Kind {
        name: "a power",
        units: &[unit("dBm", 1, 0)],
        example: "30 dBm",
        low: -150.0,
        high: 100.0,
        limits: "between -150 dBm and 100 dBm",
        whole: false,
    },
    from |base| Dbm(base.to_f64()),
    print |kind, power| kind.print_real(power.0)
);

quantity!(
    /// A ratio of powers.
    Gain: Decibel,
    Kind {
        name: "a ratio in decibels",
        units: &[unit("dB", 1, 0)],
        example: "5 dB",
        low: -200.0,
        high: 200.0,
        limits: "between -200 dB and 200 dB",
        whole: false,
    },
    from |base| Decibel(base.to_f64()),
    print |kind, gain| kind.print_real(gain.0)
);

quantity!(
    /// An angle in degrees.
    Angle: f64,
    Kind {
        name: "an angle",
        units: &[unit("deg", 1, 0), alias("°", 1, 0)],
        example: "70 deg",
        low: -360.0,
        high: 360.0,
        limits: "between -360 deg and 360 deg",
        whole: false,
    },
    from Decimal::to_f64,
    print Kind::print_real
);

quantity!(
    /// A probability; the value is between 0 and 1.
    Share: f64,
    Kind {
        name: "a percentage",
        units: &[unit("%", 1, -2)],
        example: "1 %",
        low: 0.0,
        high: 1.0,
        limits: "between 0 % and 100 %",
        whole: false,
    },
    from Decimal::to_f64,
    print Kind::print_real
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Tree, Value};

    fn read<T: de::DeserializeOwned>(text: &str) -> Result<T, String> {
        let tree = Tree::unplaced(Value::Text(text.to_owned()));
        crate::reader::read(&tree).map_err(|e| format!("{}; {}", e.message, e.help))
    }

    #[test]
    fn units_scale() {
        assert_eq!(read("30s"), Ok(Time(Duration::from_secs(30))));
        assert_eq!(read("0.25 us"), Ok(Time(Duration::from_nanos(250))));
        assert_eq!(read(" 1.5 min "), Ok(Time(Duration::from_secs(90))));
        assert_eq!(read("512 KiB"), Ok(Size(Bytes(524_288))));
        assert_eq!(read("1.5 MB"), Ok(Size(Bytes(1_500_000))));
        assert_eq!(read("1 Gbit/s"), Ok(Rate(BitRate(1_000_000_000))));
        assert_eq!(read("7.5Mbps"), Ok(Rate(BitRate(7_500_000))));
        assert_eq!(read("-0.2 km"), Ok(Metres(-200.0)));
        assert_eq!(read("10 m/s"), Ok(Speed(36.0)));
        assert_eq!(read("5 (km/h)^2"), Ok(SpeedVariance(5.0)));
        assert_eq!(read("2 (m/s)²"), Ok(SpeedVariance(25.92)));
        assert_eq!(read("2.12 GHz"), Ok(Frequency(2.12e9)));
        assert_eq!(read("46 dBm"), Ok(Power(Dbm(46.0))));
        assert_eq!(read("0.1 %"), Ok(Share(0.001)));
    }

    #[test]
    fn printing_reads_back() {
        fn there_and_back<T: de::DeserializeOwned + fmt::Display + PartialEq + fmt::Debug>(
            text: &str,
            print: &str,
        ) {
            let value: T = read(text).unwrap();
            assert_eq!(value.to_string(), print);
            assert_eq!(read::<T>(print), Ok(value));
        }
        there_and_back::<Time>("0.5s", "500 ms");
        there_and_back::<Time>("90 s", "90 s");
        there_and_back::<Time>("0 ms", "0 s");
        there_and_back::<Size>("524288 B", "512 KiB");
        there_and_back::<Size>("3 MB", "3 MB");
        there_and_back::<Size>("1500 B", "1500 B");
        there_and_back::<Rate>("1000 Mbit/s", "1 Gbit/s");
        there_and_back::<Rate>("7.5 Mbps", "7500 kbit/s");
        there_and_back::<Metres>("0.75 km", "750 m");
        there_and_back::<Metres>("0 m", "0 m");
        there_and_back::<Speed>("3 m/s", "10.8 km/h");
        there_and_back::<SpeedVariance>("5(km/h)²", "5 (km/h)^2");
        there_and_back::<Frequency>("2120 MHz", "2.12 GHz");
        there_and_back::<Power>("-3.5 dBm", "-3.5 dBm");
        there_and_back::<Gain>("0.5 dB", "0.5 dB");
        there_and_back::<Angle>("-120.5°", "-120.5 deg");
        there_and_back::<Share>("0.1 %", "0.1 %");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let time = |t: &str| read::<Time>(t).unwrap_err();
        assert_eq!(time("30"), "a time needs a unit; write \"30 s\"; units: ns, us, ms, s");
        assert_eq!(
            time("30 sec"),
            "\"30 sec\" is not a time; write a number and a unit, such as \"30 s\"; units: ns, us, ms, s"
        );
        assert_eq!(time("-1 s"), "a time cannot be negative; it must be between 0 s and 1000000 s");
        assert_eq!(time("0.5 ns"), "too fine: the resolution is 1 ns; write a whole number of ns");
        assert_eq!(time("1e7 s"), "out of range; it must be between 0 s and 1000000 s");
        assert_eq!(
            read::<Size>("512 KB").unwrap_err(),
            "\"512 KB\" is not a size; write a number and a unit, such as \"512 KiB\"; units: B, kB, KiB, MB, MiB, GB, GiB"
        );
        assert!(read::<Metres>("nan m").is_err());
        assert!(read::<Metres>("inf m").is_err());
    }
}
