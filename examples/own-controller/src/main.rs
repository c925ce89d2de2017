//! Prints the comparison of the controller with CUBIC, over TCP and QUIC.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", own_controller::comparison()?);
    Ok(())
}
