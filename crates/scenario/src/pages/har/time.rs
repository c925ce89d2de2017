//! Times in ISO 8601.

/// Milliseconds since 1970 of a time in ISO 8601 as in HAR: `2011-09-15T12:00:00.000+02:00`, or with `Z` at
/// its end. A time without a zone is in UTC: only the differences of times matter.
pub(super) fn milliseconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = |range: core::ops::Range<usize>| text.get(range)?.parse::<i64>().ok().filter(|n| *n >= 0);
    let marks: [(usize, &[char]); 5] =
        [(4, &['-']), (7, &['-']), (10, &['T', 't', ' ']), (13, &[':']), (16, &[':'])];
    if marks.iter().any(|(place, mark)| text.get(*place..).is_none_or(|rest| !rest.starts_with(*mark))) {
        return None;
    }
    let [year, month, day] = [number(0..4)?, number(5..7)?, number(8..10)?];
    let [hour, minute, second] = [number(11..13)?, number(14..16)?, number(17..19)?];
    let sane =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    let rest = text.get(19..)?;
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at(zone_at);
    let fraction: f64 =
        if fraction.is_empty() { 0.0 } else { format!("0{}", fraction.replace(',', ".")).parse().ok()? };
    // Days since 1970-01-01: years begin in March, so that a leap day is the last of one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let minutes = (days * 24 + hour) * 60 + minute - offset_minutes(zone)?;
    sane.then(|| (minutes * 60 + second) as f64 * 1e3 + fraction * 1e3)
}

/// The offset of a time zone: `Z`, `+02:00`, `-0700`, `+02` or nothing.
fn offset_minutes(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z") {
        return Some(0);
    }
    let digits: String = zone.get(1..)?.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = (digits.get(..2)?.parse::<i64>().ok()?, digits.get(2..)?);
    let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i64>().ok()? };
    Some((hours * 60 + minutes) * if zone.starts_with('-') { -1 } else { 1 })
}
