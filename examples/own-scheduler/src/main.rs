//! Prints the comparison of the policy with built-in ones.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", own_scheduler::comparison()?);
    Ok(())
}
