//! The program `airlane-node`: checks, sets up or runs one node. `airlane node` starts it.
//!
//! Exit codes: 0, 1 if `--check` finds something missing or work was cut off, 2 for a mistake of the user, and
//! 141 if the reader of the output has closed it.

use std::process::ExitCode;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("error: airlane-node needs Linux");
    ExitCode::from(2)
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io::{self, Write};
    use std::process::ExitCode;

    use airlane_nodes::{Ended, Node, Requirement};
    use serde_json::json;

    const HELP: &str = "\
Run a real node, with sockets, until SIGTERM or Ctrl-C.

Usage: airlane-node KIND CONFIG.toml [OPTIONS]

Options:
  --check        Check the settings, and what the node needs of this machine.
  --print-setup  Print the rules, routes and parameters it needs, as a shell script.
  --json         Print the result of --check as JSON.
  --version      Print the version.
  --help         Print this text.
";
    const MISTAKE: u8 = 2;
    /// 128 and the number of SIGPIPE, as shells report the end by this signal.
    const CLOSED_OUTPUT: u8 = 141;

    /// What ends the program before its work does.
    enum Failure {
        /// A mistake of the user, in words.
        Mistake(String),
        /// The standard output cannot be written.
        Output(io::Error),
    }

    impl From<io::Error> for Failure {
        fn from(error: io::Error) -> Self {
            Self::Output(error)
        }
    }

    fn mistake(text: impl ToString) -> Failure {
        Failure::Mistake(text.to_string())
    }

    /// The arguments of the command line.
    #[derive(Default)]
    struct Arguments {
        kind: String,
        file: String,
        check: bool,
        setup: bool,
        json: bool,
    }

    pub(crate) fn main() -> ExitCode {
        match command(std::env::args().skip(1)) {
            Ok(code) => code,
            Err(Failure::Mistake(text)) => {
                eprintln!("error: {text}");
                ExitCode::from(MISTAKE)
            }
            Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                ExitCode::from(CLOSED_OUTPUT)
            }
            Err(Failure::Output(error)) => {
                eprintln!("error: the output cannot be written: {error}");
                ExitCode::from(MISTAKE)
            }
        }
    }

    fn command(words: impl Iterator<Item = String>) -> Result<ExitCode, Failure> {
        let words: Vec<String> = words.collect();
        let mut output = io::stdout();
        if words.iter().any(|word| word == "--help") {
            write!(output, "{HELP}\nKIND is one of {}.\n", kinds())?;
            return Ok(ExitCode::SUCCESS);
        }
        if words.iter().any(|word| word == "--version") {
            writeln!(output, "airlane-node {}", env!("CARGO_PKG_VERSION"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let arguments = arguments(words)?;
        let node = read(&arguments)?;
        if arguments.setup {
            write!(output, "{}", node.setup())?;
        }
        if arguments.check {
            return check(&*node, arguments.json);
        }
        if arguments.setup {
            return Ok(ExitCode::SUCCESS);
        }
        Ok(match airlane_nodes::run(node).map_err(mistake)? {
            Ended::Drained => ExitCode::SUCCESS,
            Ended::Interrupted => ExitCode::FAILURE,
        })
    }

    fn kinds() -> String {
        airlane_nodes::kinds().collect::<Vec<_>>().join(", ")
    }

    fn arguments(words: Vec<String>) -> Result<Arguments, Failure> {
        let mut found = Arguments::default();
        let mut places = Vec::new();
        for word in words {
            match &*word {
                "--check" => found.check = true,
                "--print-setup" => found.setup = true,
                "--json" => found.json = true,
                _ if word.starts_with('-') => {
                    return Err(mistake(format!("{word} is no option; see airlane-node --help")));
                }
                _ => places.push(word),
            }
        }
        let [kind, file] = <[String; 2]>::try_from(places)
            .map_err(|_| mistake("expected a kind and a file of settings; see airlane-node --help"))?;
        if !airlane_nodes::kinds().any(|one| one == kind) {
            return Err(mistake(format!("{kind} is no kind of node; it must be one of {}", kinds())));
        }
        if found.json && (!found.check || found.setup) {
            return Err(mistake("--json prints the answer of --check alone: write --check --json"));
        }
        Ok(Arguments { kind, file, ..found })
    }

    fn read(Arguments { kind, file, .. }: &Arguments) -> Result<Box<dyn Node>, Failure> {
        let unread = |reason: &str| {
            mistake(format!("{file}: cannot be read ({reason}); expected a file of settings in TOML"))
        };
        let bytes = fs::read(file).map_err(|error| {
            let text = error.to_string(); // with the number of the error at its end
            unread(text.split(" (os error").next().unwrap_or_default())
        })?;
        let text = String::from_utf8(bytes).map_err(|_| unread("it is not UTF-8"))?;
        airlane_nodes::read(kind, &text, file).map_err(mistake)
    }

    /// Prints what a node needs; the code is 1 if something is missing.
    fn check(node: &dyn Node, as_json: bool) -> Result<ExitCode, Failure> {
        let requirements = node.requirements();
        let mut output = io::stdout();
        if as_json {
            let text = serde_json::to_string_pretty(&json!({ "requirements": requirements }));
            writeln!(output, "{}", text.expect("requirements are texts"))?;
        } else {
            for Requirement { name, missing } in &requirements {
                match missing {
                    None => writeln!(output, "{name}: ok")?,
                    Some(why) => writeln!(output, "{name}: missing: {why}")?,
                }
            }
        }
        let complete = requirements.iter().all(|one| one.missing.is_none());
        Ok(if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
