//! Writes a bundled page set. Its argument is the year: `2011` or `2025`.

mod objects;
pub(crate) mod pages_2011;
pub(crate) mod pages_2025;

#[allow(dead_code, reason = "a test includes this file for the generators")]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("2011") => print!("{}", pages_2011::generate()),
        Some("2025") => print!("{}", pages_2025::generate()),
        _ => {
            eprintln!("page_set: name the year of a page set, 2011 or 2025");
            std::process::exit(2);
        }
    }
}
