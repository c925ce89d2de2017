//! Who may use the service: bearer tokens (RFC 6750) from a file.

use std::collections::BTreeSet;

use axum::http::{HeaderMap, StatusCode, header};
use subtle::ConstantTimeEq;

use super::problem::Problem;
use super::settings::Access;
use crate::secrets::secret;

/// The shortest token: 128 bits in base64.
const TOKEN_MIN: usize = 22;

/// The caller of a request: the id of its application instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Caller(pub(super) String);

/// The rule by which callers are known.
#[derive(Clone, Debug)]
pub(super) enum Callers {
    /// Every caller, with one of these application instances; any instance if the list is empty.
    Open(Vec<String>),
    /// Holders of a token, with the application instance of each.
    Tokens(Vec<(String, String)>),
}

impl Callers {
    /// Reads the file of tokens, if there is one.
    pub(super) fn read(access: &Access) -> Result<Self, String> {
        let Some(path) = &access.tokens else { return Ok(Self::Open(access.applications.clone())) };
        let mut tokens: Vec<(String, String)> = vec![];
        for (number, line) in secret(path)?.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let wrong = |what: &str| {
                let help = "write a token of 22 characters or more and the id of an application instance";
                Err(format!("{}:{}: {what}; {help}", path.display(), number + 1))
            };
            match words[..] {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                [token, _] if token.len() < TOKEN_MIN => return wrong("the token can be guessed"),
                [token, _] if tokens.iter().any(|(other, _)| other == token) => {
                    return wrong("the token occurs twice");
                }
                [token, application] => tokens.push((token.to_owned(), application.to_owned())),
                _ => return wrong("not two words"),
            }
        }
        Ok(Self::Tokens(tokens))
    }

    /// The caller of a request with these headers.
    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let tokens = match self {
            Self::Open(known) => {
                return Ok(Caller(known.first().cloned().unwrap_or_else(|| "anonymous".to_owned())));
            }
            Self::Tokens(tokens) => tokens,
        };
        let refused = |detail: &str| Problem::new(StatusCode::UNAUTHORIZED, detail);
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.ok_or_else(|| refused("a bearer token is needed"))?;
        let token = given.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let (_, token) = token.ok_or_else(|| refused("the scheme of the token is Bearer"))?;
        let mut found = None;
        for (known, application) in tokens {
            // All tokens are compared, each in a time that does not depend on the token.
            if bool::from(known.as_bytes().ct_eq(token.trim().as_bytes())) {
                found = Some(Caller(application.clone()));
            }
        }
        found.ok_or_else(|| refused("the token is unknown"))
    }

    /// Whether there is such an application instance, as far as this caller may know.
    pub(super) fn knows(&self, caller: &Caller, application: &str) -> bool {
        match self {
            Self::Open(known) => known.is_empty() || known.iter().any(|one| one == application),
            Self::Tokens(_) => caller.0 == application,
        }
    }

    /// The number of application instances with a token.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Open(_) => 0,
            Self::Tokens(tokens) => tokens.iter().map(|(_, one)| one).collect::<BTreeSet<_>>().len(),
        }
    }
}
