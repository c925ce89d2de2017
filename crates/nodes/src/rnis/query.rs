//! The queries: their parameters, and their answers from what is known.

use airlane_net::rni::UeRecord;
use serde_json::{Map, Value, json};

use super::access::Caller;
use super::body::{TimeStamp, associate_id, cell_of, ecgi, plmn};
use super::problem::Problem;
use super::service::Service;
use super::source::{CellUse, Report, UeUse};

/// The types of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Text,
    Integer,
    Texts,
    Integers,
}

use Type::{Integer, Integers, Text, Texts};

const UES: [(&str, Type); 4] = [
    ("ue_ipv4_address", Texts),
    ("ue_ipv6_address", Texts),
    ("nated_ip_address", Texts),
    ("gtp_teid", Texts),
];
const RAB: [(&str, Type); 8] = [
    ("app_ins_id", Text),
    ("cell_id", Texts),
    ("erab_id", Integer),
    ("qci", Integer),
    ("erab_mbr_dl", Integer),
    ("erab_mbr_ul", Integer),
    ("erab_gbr_dl", Integer),
    ("erab_gbr_ul", Integer),
];
const S1: [(&str, Type); 3] = [("temp_ue_id", Texts), ("cell_id", Texts), ("erab_id", Integers)];
const LAYER2: [(&str, Type); 2] = [("app_ins_id", Text), ("cell_id", Texts)];
/// Measurements of a cell and of a UE that can be asked for by value.
const MEASURED_CELL: [&str; 17] = [
    "dl_gbr_prb_usage_cell",
    "ul_gbr_prb_usage_cell",
    "dl_nongbr_prb_usage_cell",
    "ul_nongbr_prb_usage_cell",
    "dl_total_prb_usage_cell",
    "ul_total_prb_usage_cell",
    "received_dedicated_preambles_cell",
    "received_randomly_selected_preambles_low_range_cell",
    "received_randomly_selected_preambles_high_range_cell",
    "number_of_active_ue_dl_gbr_cell",
    "number_of_active_ue_ul_gbr_cell",
    "number_of_active_ue_dl_nongbr_cell",
    "number_of_active_ue_ul_nongbr_cell",
    "dl_gbr_pdr_cell",
    "ul_gbr_pdr_cell",
    "dl_nongbr_pdr_cell",
    "ul_nongbr_pdr_cell",
];
const MEASURED_UE: [&str; 16] = [
    "dl_gbr_delay_ue",
    "ul_gbr_delay_ue",
    "dl_nongbr_delay_ue",
    "ul_nongbr_delay_ue",
    "dl_gbr_pdr_ue",
    "ul_gbr_pdr_ue",
    "dl_nongbr_pdr_ue",
    "ul_nongbr_pdr_ue",
    "dl_gbr_throughput_ue",
    "ul_gbr_throughput_ue",
    "dl_nongbr_throughput_ue",
    "ul_nongbr_throughput_ue",
    "dl_gbr_data_volume_ue",
    "ul_gbr_data_volume_ue",
    "dl_nongbr_data_volume_ue",
    "ul_nongbr_data_volume_ue",
];

/// The parameters of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    texts: Vec<(String, String)>,
    integers: Vec<(String, i64)>,
}

impl Parameters {
    /// Reads a query with these parameters. A list is repeated, or separated by commas.
    fn read(query: Option<&str>, known: &[(&str, Type)]) -> Result<Self, Problem> {
        let mut read = Self::default();
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        for (name, value) in pairs {
            let Some((_, kind)) = known.iter().find(|(one, _)| *one == name) else {
                let names: Vec<&str> = known.iter().map(|(one, _)| *one).collect();
                return Err(Problem::malformed(format!(
                    "the query has no parameter {name:?}; {}",
                    names.join(", ")
                )));
            };
            let is_list = matches!(kind, Texts | Integers);
            let repeated = read.texts.iter().any(|(one, _)| *one == name)
                || read.integers.iter().any(|(one, _)| *one == name);
            if repeated && !is_list {
                return Err(Problem::malformed(format!("the parameter {name} occurs twice")));
            }
            let values: Vec<&str> = if is_list { value.split(',').collect() } else { vec![&value] };
            for value in values {
                match kind {
                    Text | Texts => read.texts.push((name.to_string(), value.to_owned())),
                    Integer | Integers => read.integers.push((name.to_string(), integer(&name, value)?)),
                }
            }
        }
        Ok(read)
    }

    fn texts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.texts.iter().filter(move |(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    fn integers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = i64> {
        self.integers.iter().filter(move |(one, _)| one == name).map(|(_, value)| *value)
    }

    /// Whether a value is among those of a parameter, or the parameter has none.
    fn admits(&self, name: &str, value: Option<i64>) -> bool {
        let mut given = self.integers(name).peekable();
        given.peek().is_none() || value.is_some_and(|value| given.any(|one| one == value))
    }

    /// The UEs of a query: those in the cells, with the identifiers that are given.
    ///
    /// An error if a cell or all UEs that it names do not exist.
    fn ues<'a>(&self, known: &'a Report) -> Result<Vec<&'a UeRecord>, Problem> {
        let cells = self.cells(known)?;
        let names_ues = UES.iter().any(|(name, _)| self.texts(name).next().is_some());
        // UEs have an IPv4 address, and neither of the other identifiers.
        let addresses: Vec<[u8; 4]> = self
            .texts("ue_ipv4_address")
            .filter_map(|text| text.parse::<core::net::Ipv4Addr>().ok().map(|one| one.octets()))
            .collect();
        let is_named = |one: &&UeRecord| !names_ues || addresses.contains(&one.ue);
        let named: Vec<_> = known.records.iter().filter(is_named).collect();
        if names_ues && named.is_empty() {
            return Err(Problem::unknown("there is no such UE"));
        }
        Ok(named.into_iter().filter(|one| cells.contains(&one.cell)).collect())
    }

    /// The cells of a query; all, if it names none.
    fn cells(&self, known: &Report) -> Result<Vec<u32>, Problem> {
        if self.texts("cell_id").next().is_none() {
            return Ok((0..known.cell_count).collect());
        }
        let mut cells: Vec<u32> =
            self.texts("cell_id").filter_map(cell_of).filter(|cell| *cell < known.cell_count).collect();
        cells.sort_unstable();
        cells.dedup();
        if cells.is_empty() { Err(Problem::unknown("there is no such cell")) } else { Ok(cells) }
    }
}

/// An integer of any length; integers beyond 64 bits become the nearest possible one.
fn integer(name: &str, text: &str) -> Result<i64, Problem> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|one| one.is_ascii_digit()) {
        return Err(Problem::malformed(format!("the parameter {name} is not an integer")));
    }
    Ok(text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
}

/// The parameter `subscription_type` of the list of subscriptions.
pub(super) fn subscription_type(query: Option<&str>) -> Result<Option<String>, Problem> {
    let read = Parameters::read(query, &[("subscription_type", Text)])?;
    Ok(read.texts("subscription_type").next().map(str::to_owned))
}

/// No parameters.
pub(super) fn nothing(query: Option<&str>) -> Result<(), Problem> {
    Parameters::read(query, &[]).map(|_| ())
}

fn stamp(known: &Report) -> TimeStamp {
    TimeStamp::from_nanos(known.at)
}

impl Service {
    /// The application instance for which a query asks.
    fn application(&self, caller: &Caller, read: &Parameters) -> Result<String, Problem> {
        match read.texts("app_ins_id").next() {
            None => Ok(caller.0.clone()),
            Some(id) if self.callers.knows(caller, id) => Ok(id.to_owned()),
            Some(_) => Err(Problem::unknown("there is no such application instance")),
        }
    }

    /// `rab_info`.
    pub(super) fn rab_info(&self, caller: &Caller, query: Option<&str>) -> Result<Value, Problem> {
        let read = Parameters::read(query, &[&RAB[..], &UES].concat())?;
        let known = self.known();
        let application = self.application(caller, &read)?;
        let ues = read.ues(&known)?;
        // Bearers of the model have no bit rates.
        let rates = ["erab_mbr_dl", "erab_mbr_ul", "erab_gbr_dl", "erab_gbr_ul"];
        let fits = rates.iter().all(|rate| read.admits(rate, None));
        let bearers = |cell: u32| -> Vec<Value> {
            let qci = |erab: i64| self.qci_of(erab);
            let asked = |erab: &&i64| read.admits("erab_id", Some(**erab)) && read.admits("qci", qci(**erab));
            let bearer = |erab: &i64| match qci(*erab) {
                Some(qci) => json!({"erabId": erab, "erabQosParameters": {"qci": qci}}),
                None => json!({"erabId": erab}),
            };
            known.erabs(cell).iter().filter(asked).map(bearer).collect()
        };
        let ue = |one: &UeRecord, bearers: &[Value]| json!({"associateId": [associate_id(one.ue)], "erabInfo": bearers});
        let mut cells = vec![];
        for cell in (0..known.cell_count).filter(|_| fits) {
            let bearers = bearers(cell);
            let here = ues.iter().filter(|one| one.cell == cell);
            let ues: Vec<Value> = here.map(|one| ue(one, &bearers)).collect();
            if !ues.is_empty() && !bearers.is_empty() {
                cells.push(json!({"ecgi": ecgi(cell), "ueInfo": ues}));
            }
        }
        let request = known.at.to_string();
        Ok(json!({
            "appInstanceId": application, "requestId": request, "cellUserInfo": cells, "timeStamp": stamp(&known),
        }))
    }

    /// `plmn_info`.
    pub(super) fn plmn_info(&self, caller: &Caller, query: Option<&str>) -> Result<Value, Problem> {
        let read = Parameters::read(query, &[("app_ins_id", Texts)])?;
        let known = self.known();
        let mut asked = read.texts("app_ins_id").peekable();
        if asked.peek().is_none() {
            return Err(Problem::malformed("the parameter app_ins_id is missing"));
        }
        let found: Vec<Value> = asked
            .filter(|id| self.callers.knows(caller, id))
            .map(|id| json!({"appInstanceId": id, "plmn": [plmn()], "timeStamp": stamp(&known)}))
            .collect();
        if found.is_empty() {
            return Err(Problem::unknown("there is no such application instance"));
        }
        Ok(found.into())
    }

    /// `s1_bearer_info`.
    pub(super) fn s1_bearer_info(&self, query: Option<&str>) -> Result<Value, Problem> {
        let read = Parameters::read(query, &[&S1[..], &UES].concat())?;
        let known = self.known();
        let ue = |one: &&UeRecord| {
            let asked = |erab: &&i64| read.admits("erab_id", Some(**erab));
            let bearers = known.erabs(one.cell).iter().filter(asked).map(|erab| json!({"erabId": erab}));
            let bearers: Vec<Value> = bearers.collect();
            let about = json!({
                "associateId": [associate_id(one.ue)], "ecgi": [ecgi(one.cell)], "s1BearerInfoDetailed": bearers,
            });
            (!bearers.is_empty()).then_some(about)
        };
        // UEs of the model have no temporary identifier.
        let names_temporary = read.texts("temp_ue_id").next().is_some();
        let ues: Vec<Value> = read.ues(&known)?.iter().filter(|_| !names_temporary).filter_map(ue).collect();
        if ues.is_empty() {
            return Err(Problem::unknown("there is no such bearer"));
        }
        Ok(json!({"s1UeInfo": ues, "timeStamp": stamp(&known)}))
    }

    /// `layer2_meas`.
    pub(super) fn layer2_meas(&self, caller: &Caller, query: Option<&str>) -> Result<Value, Problem> {
        let measured = MEASURED_CELL.iter().chain(&MEASURED_UE).map(|name| (*name, Integer));
        let names: Vec<_> = LAYER2.into_iter().chain(UES).chain(measured).collect();
        let read = Parameters::read(query, &names)?;
        let known = self.known();
        self.application(caller, &read)?;
        let names_ues = UES.iter().any(|(name, _)| read.texts(name).next().is_some());
        let ues = read.ues(&known)?;
        let cells = read.cells(&known)?.into_iter();
        let cells = cells.filter(|cell| !names_ues || ues.iter().any(|one| one.cell == *cell));
        let used = |cell: u32| known.measured.cells.get(cell as usize);
        let mut cells: Vec<(u32, Value)> =
            cells.filter_map(|cell| Some((cell, cell_info(cell, used(cell), &read)?))).collect();
        let in_cells = |one: &&UeUse| cells.iter().any(|(cell, _)| *cell == one.cell);
        let is_asked = |one: &&UeUse| ues.iter().any(|ue| ue.ue == one.ue);
        let measured = known.measured.ues.iter().filter(is_asked).filter(in_cells);
        let users: Vec<(u32, Value)> =
            measured.filter_map(|one| Some((one.cell, ue_info(one, &read)?))).collect();
        if MEASURED_UE.iter().any(|name| read.integers(name).next().is_some()) {
            cells.retain(|(cell, _)| users.iter().any(|(of, _)| of == cell));
        }
        let values = |list: Vec<(u32, Value)>| list.into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        Ok(json!({"cellInfo": values(cells), "cellUEInfo": values(users), "timeStamp": stamp(&known)}))
    }
}

/// The measurements of a cell; `None` if other values are asked for.
fn cell_info(cell: u32, used: Option<&CellUse>, read: &Parameters) -> Option<Value> {
    let mut info = Map::new();
    if let Some(used) = used {
        // All bearers are non-GBR bearers.
        for (at, link) in ["dl", "ul"].into_iter().enumerate() {
            info.insert(format!("{link}_total_prb_usage_cell"), used.prbs[at].into());
            info.insert(format!("{link}_nongbr_prb_usage_cell"), used.prbs[at].into());
            info.insert(format!("{link}_gbr_prb_usage_cell"), 0.into());
            info.insert(format!("number_of_active_ue_{link}_nongbr_cell"), used.active[at].into());
            info.insert(format!("number_of_active_ue_{link}_gbr_cell"), 0.into());
        }
    }
    let fits = |name: &str| read.admits(name, info.get(name).and_then(Value::as_i64));
    if !MEASURED_CELL.iter().all(|name| fits(name)) {
        return None;
    }
    info.insert("ecgi".to_owned(), json!(ecgi(cell)));
    Some(info.into())
}

/// The measurements of a UE; `None` if other values are asked for. All bearers are non-GBR bearers.
fn ue_info(one: &UeUse, read: &Parameters) -> Option<Value> {
    let mut info = Map::new();
    for (at, link) in ["dl", "ul"].into_iter().enumerate() {
        info.insert(format!("{link}_nongbr_data_volume_ue"), one.volume[at].into());
        info.insert(format!("{link}_gbr_data_volume_ue"), 0.into());
        for (name, value) in [("delay", one.delay[at]), ("throughput", one.throughput[at])] {
            if let Some(value) = value {
                info.insert(format!("{link}_nongbr_{name}_ue"), value.into());
            }
        }
    }
    let fits = |name: &str| read.admits(name, info.get(name).and_then(Value::as_i64));
    if !MEASURED_UE.iter().all(|name| fits(name)) {
        return None;
    }
    info.insert("ecgi".to_owned(), json!(ecgi(one.cell)));
    info.insert("associateId".to_owned(), json!(associate_id(one.ue)));
    Some(info.into())
}
