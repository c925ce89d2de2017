//! User errors as exceptions.

use airlane_scenario::ScenarioError;
use js_sys::{Error, Reflect};
use wasm_bindgen::JsValue;

/// The exception for an error in a scenario: the usual message, and its parts as attributes.
pub(crate) fn scenario_error(error: &ScenarioError) -> JsValue {
    let exception = Error::new(&error.to_string());
    exception.set_name("ScenarioError");
    let line = error.line.map_or(JsValue::NULL, JsValue::from);
    let parts: [(&str, JsValue); 6] = [
        ("file", (*error.file).into()),
        ("line", line),
        ("key", (*error.key).into()),
        ("value", (*error.value).into()),
        ("what", (*error.message).into()),
        ("help", (*error.help).into()),
    ];
    for (name, value) in parts {
        Reflect::set(&exception, &name.into(), &value).expect("an error takes attributes");
    }
    exception.into()
}
