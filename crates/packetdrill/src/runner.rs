//! Plays the events of a script in order.

use airlane_core::{Duration, Instant};

use crate::compare::{Comparison, joined, show, show_stated};
use crate::expression::{Failure, Variables};
use crate::machine::seconds;
use crate::names;
use crate::script::{Action, Call, Event, Script, Segment, Value, When};
use crate::shell::Settings;
use crate::stack::{Answer, Device, Stack};
use crate::{End, Options};

/// For an event at any time, the longest time that is waited for.
const PATIENCE: Duration = Duration::from_secs(10_000);

/// A call that waits.
struct Waiting<'a> {
    line: usize,
    call: &'a Call,
    until: Instant,
    tolerance: Duration,
}

struct Runner<'a, S> {
    stack: &'a mut S,
    /// The time of the stack at which the script begins.
    start: Instant,
    settings: Settings,
    variables: Variables,
    waiting: Option<Waiting<'a>>,
    file: &'a dyn Fn(&str) -> Option<String>,
    tolerance: Duration,
    /// The tick of timestamps in µs (`--tcp_ts_tick_usecs`), if they are compared.
    tick: Option<u64>,
    strict: bool,
    /// The stated time of the last event, and whether a segment arrived then. As in packetdrill, the times of
    /// segments that arrive one after the other count from what was stated, all others from what happened.
    last: Duration,
    arrived: bool,
}

/// The window of time of an event.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Instant,
    to: Instant,
    tolerance: Duration,
}

/// The settings of a script, apart from those of its device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparing {
    tolerance: Duration,
    tick: Option<u64>,
    strict: bool,
}

/// Reads the settings of a script. An error has the line.
pub(crate) fn settings(script: &Script, options: &Options) -> Result<(Device, Comparing), (usize, End)> {
    let (mut ipv6, mut mtu, mut arriving) = (options.ipv6, None, None);
    let (mut tolerance, mut tick, mut strict) = (options.tolerance, 0, false);
    for (line, name, value) in &script.settings {
        let number = || {
            let wrong = || (*line, End::Foreign(format!("--{name}={value}, which is no number")));
            value.parse::<u64>().map_err(|_| wrong())
        };
        match &**name {
            "ip_version" => ipv6 = value == "ipv6",
            "mtu" => mtu = Some(number()?),
            "mss" => arriving = u32::try_from(number()?).ok(),
            "tolerance_usecs" => tolerance = Duration::from_micros(number()?),
            "tcp_ts_tick_usecs" => tick = number()?,
            "strict_segments" => strict = true,
            "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "bind_port" | "connect_port"
            | "speed" | "tcp_ts_ecr_scaled" | "verbose" | "debug" | "define" | "init_scripts"
            | "send_omit_free" => {}
            _ => return Err((*line, End::Foreign(format!("the setting --{name}")))),
        }
    }
    let mtu = mtu.unwrap_or(if ipv6 { 1520 } else { 1500 });
    let device = Device { ipv6, mtu: u16::try_from(mtu).unwrap_or(u16::MAX), arriving };
    Ok((device, Comparing { tolerance, tick: (tick > 0).then_some(tick), strict }))
}

/// Plays a script. An error has the line. `printed` takes the lines that the script prints.
pub(crate) fn run<S: Stack>(
    script: &Script,
    stack: &mut S,
    comparing: Comparing,
    file: &dyn Fn(&str) -> Option<String>,
    printed: &mut Vec<String>,
) -> Result<(), (usize, End)> {
    let mut runner = Runner::new(stack, comparing, file);
    let mut line = 1;
    let mut result = Ok(());
    for event in &script.events {
        line = event.line;
        result = runner.event(event);
        if result.is_err() {
            break;
        }
    }
    let result = result.and_then(|()| runner.finish_waiting());
    printed.append(&mut runner.variables.printed);
    result.map_err(|(at, end)| (at.unwrap_or(line), end))
}

/// An error, with its line if that is not the line of the event.
type Ended = (Option<usize>, End);

fn differs<T>(text: String) -> Result<T, Ended> {
    Err((None, End::Differs(text)))
}

fn foreign<T>(text: String) -> Result<T, Ended> {
    Err((None, End::Foreign(text)))
}

impl<'a, S: Stack> Runner<'a, S> {
    fn new(stack: &'a mut S, comparing: Comparing, file: &'a dyn Fn(&str) -> Option<String>) -> Self {
        let Comparing { tolerance, tick, strict } = comparing;
        Self {
            start: stack.now(),
            stack,
            settings: Settings::default(),
            variables: Variables::default(),
            waiting: None,
            file,
            tolerance,
            tick,
            strict,
            last: Duration::ZERO,
            arrived: false,
        }
    }

    fn elapsed(&self) -> Duration {
        self.stack.now().saturating_since(self.start)
    }

    /// The time of an event. The last time is replaced.
    fn window(&mut self, when: When, arrives: bool) -> Window {
        let base = if self.arrived && arrives { self.last } else { self.elapsed() };
        let (from, to) = match when {
            When::Now => (self.elapsed(), self.elapsed()),
            When::Any => (self.elapsed(), self.elapsed() + PATIENCE),
            When::At(at) => (at, at),
            When::After(span) => (base + span, base + span),
            When::Within(from, to) => (from, to),
            When::AfterWithin(from, to) => (base + from, base + to),
        };
        let share = Duration::from_nanos(from.saturating_sub(self.last).as_nanos() / 8);
        self.arrived = arrives && matches!(when, When::At(_) | When::After(_));
        self.last = from;
        let tolerance = self.tolerance.max(share);
        let at = |span| self.start.saturating_add(span);
        Window { from: at(from), to: at(to), tolerance }
    }

    fn event(&mut self, event: &'a Event) -> Result<(), Ended> {
        let mut window = self.window(event.time, matches!(event.action, Action::Receive(_)));
        if let Action::Expect(segment) = &event.action {
            return self.expect(segment, window, event.time == When::Any);
        }
        if event.time == When::Any {
            window.to = window.from;
        }
        self.advance(window.from)?;
        match &event.action {
            Action::Expect(_) => {}
            Action::Receive(segment) => self.stack.receive(segment).or_else(foreign)?,
            Action::Call(call) => self.call(event, call, window)?,
            Action::Command(command) => {
                self.settings.run(command, self.file).or_else(foreign)?;
                self.stack.apply(&self.settings).or_else(foreign)?;
                if core::mem::take(&mut self.settings.wants_listener) && !self.stack.listens() {
                    return differs("expected a socket that listens, but there is none".to_owned());
                }
            }
            Action::Code(code) => self.code(code)?,
            Action::Foreign(reason) => return foreign(reason.clone()),
        }
        self.continue_waiting()
    }

    /// Lets time pass, with a call that waits.
    fn advance(&mut self, to: Instant) -> Result<(), Ended> {
        while self.waiting.is_some() && self.stack.next_timeout() < to {
            self.stack.step(to);
            self.continue_waiting()?;
        }
        self.stack.advance(to);
        Ok(())
    }

    fn code(&mut self, code: &str) -> Result<(), Ended> {
        let (fields, missing) = match self.stack.info() {
            Ok(fields) => (fields, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        match (self.variables.run(code, &|name| names::value(name, &fields)), missing) {
            (Ok(()), _) => Ok(()),
            (Err(Failure::Untrue(text)), _) => differs(format!("the assertion does not hold: {text}")),
            (Err(Failure::Unknown(text)), None) => foreign(text),
            (Err(Failure::Unknown(_)), Some(reason)) => foreign(reason),
        }
    }

    /// A segment must be sent.
    fn expect(&mut self, stated: &Segment, window: Window, any: bool) -> Result<(), Ended> {
        let latest = window.to.saturating_add(window.tolerance);
        let mut parts: Vec<_> = Vec::new();
        loop {
            while self.stack.sent().is_empty() && self.stack.next_timeout() <= latest {
                self.stack.step(latest);
                self.continue_waiting()?;
            }
            let Some(sent) = self.stack.sent().pop_front() else {
                if parts.is_empty() {
                    return differs(format!("expected {}, but nothing was sent", show_stated(stated)));
                }
                break;
            };
            parts.push(sent);
            let length: u32 = parts.iter().map(|part| part.payload).sum();
            let (one, first) = (&parts[parts.len() - 1], &parts[0]);
            let apart = one.connection != first.connection
                || one.header.sequence != first.header.sequence.wrapping_add(length - one.payload);
            if apart && parts.len() > 1 {
                self.stack.sent().push_front(parts.remove(parts.len() - 1));
                break;
            }
            if length >= stated.payload || self.strict || one.payload == 0 {
                break;
            }
        }
        let sent = joined(&parts);
        let full = self.stack.full_segment(&sent);
        // As in packetdrill, an eighth of the time since the start is tolerated in a timestamp.
        let since_start = sent.at.saturating_since(self.start).as_micros() / 8;
        let ticks = self.tick.map(|tick| (self.tolerance.as_micros().max(since_start) / tick) as u32);
        let comparison = Comparison { stated, sent: &sent, parts: parts.len(), full, ticks };
        let numbers = self.stack.numbering(sent.connection);
        let difference = match comparison.difference(numbers) {
            Ok(difference) => difference,
            Err(reason) => return foreign(reason),
        };
        let at = seconds(sent.at.saturating_since(self.start));
        if let Some(difference) = difference {
            let (wanted, found) = (show_stated(stated), show(&sent, numbers));
            return differs(format!("expected {wanted}, got {found} at {at} s: {difference}"));
        }
        let early = sent.at.saturating_add(window.tolerance) < window.from;
        if !any && (early || sent.at > latest) {
            let stated_at = |at: Instant| seconds(at.saturating_since(self.start));
            let range = if window.from == window.to {
                stated_at(window.from)
            } else {
                format!("{} to {}", stated_at(window.from), stated_at(window.to))
            };
            let tolerance = seconds(window.tolerance);
            return differs(format!(
                "expected {} at {range} s, but it was sent at {at} s (tolerance {tolerance} s)",
                show_stated(stated)
            ));
        }
        Ok(())
    }

    fn call(&mut self, event: &Event, call: &'a Call, window: Window) -> Result<(), Ended> {
        self.finish_waiting()?;
        let answer = self.stack.call(call);
        if answer != Answer::Blocks {
            return check(call, &answer).map_err(|end| (None, end));
        }
        let Some(returns) = event.returns else {
            return differs(format!("expected {} to return at once, but it waits", show_call(call)));
        };
        // The end counts from where the beginning counts.
        let offset = match event.time {
            When::At(at) | When::After(at) => returns.saturating_sub(at),
            _ => returns,
        };
        let until = window.from.saturating_add(offset);
        self.waiting = Some(Waiting { line: event.line, call, until, tolerance: window.tolerance });
        Ok(())
    }

    /// A call that waits may be able to return.
    fn continue_waiting(&mut self) -> Result<(), Ended> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        let (line, call) = (waiting.line, waiting.call);
        let answer = self.stack.resume(call);
        if answer == Answer::Blocks {
            return Ok(());
        }
        let (until, tolerance) = (waiting.until, waiting.tolerance.max(self.tolerance));
        self.waiting = None;
        check(call, &answer).map_err(|end| (Some(line), end))?;
        let now = self.stack.now();
        if now > until.saturating_add(tolerance) || now.saturating_add(tolerance) < until {
            let text = format!(
                "expected {} to return at {} s, but it returned at {} s",
                show_call(call),
                seconds(until.saturating_since(self.start)),
                seconds(now.saturating_since(self.start)),
            );
            return Err((Some(line), End::Differs(text)));
        }
        Ok(())
    }

    /// Waits until the call that waits has returned.
    fn finish_waiting(&mut self) -> Result<(), Ended> {
        while let Some(waiting) = &self.waiting {
            let latest = waiting.until.saturating_add(waiting.tolerance.max(self.tolerance));
            if self.stack.next_timeout() > latest {
                let text = format!("expected {} to return, but it waits", show_call(waiting.call));
                return Err((Some(waiting.line), End::Differs(text)));
            }
            self.stack.step(latest);
            self.continue_waiting()?;
        }
        Ok(())
    }
}

fn show_call(call: &Call) -> String {
    let result = match &call.result {
        Value::Number(n) => n.to_string(),
        _ => "...".to_owned(),
    };
    let error = call.error.as_ref().map_or_else(String::new, |e| format!(" {e}"));
    format!("{}() = {result}{error}", call.name)
}

/// Compares the result of a call.
fn check(call: &Call, answer: &Answer) -> Result<(), End> {
    let got = match answer {
        Answer::Foreign(reason) => return Err(End::Foreign(reason.clone())),
        Answer::Blocks => "that it waits".to_owned(),
        Answer::Differs(text) => text.clone(),
        Answer::Returns(value) => {
            let stated = names::number(&call.result).map_err(End::Foreign)?;
            if stated.is_none() || (stated == Some(*value) && call.error.is_none()) {
                return Ok(());
            }
            value.to_string()
        }
        Answer::Fails(error) => {
            let stated = names::number(&call.result).map_err(End::Foreign)?;
            let same = call.error.as_deref().is_none_or(|e| names::error(e) == names::error(error));
            if stated.is_none() || (stated == Some(-1) && same) {
                return Ok(());
            }
            format!("-1 {error}")
        }
    };
    Err(End::Differs(format!("expected {}, got {got}", show_call(call))))
}
