//! The JSON schemas in `assets/schema/`, as far as they are used there, held against what the program writes.

use std::path::Path;

use serde_json::Value;

use crate::world::{Fault, Outcome};

pub(crate) struct Schema(Value);

impl Schema {
    pub(crate) fn named(name: &str) -> Result<Self, Fault> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/schema/{name}.json"));
        Ok(Self(serde_json::from_slice(&std::fs::read(path)?)?))
    }

    pub(crate) fn check(&self, value: &Value) -> Outcome {
        self.fit(&self.0, value)
            .map_err(|why| format!("not as the schema wants it, {why}: {value:#}").into())
    }

    fn fit(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let rules = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Bool(false) => return Err("a value that must not be there".to_owned()),
            Value::Object(rules) => rules,
            other => return Err(format!("a schema that is none: {other}")),
        };
        for (rule, wanted) in rules {
            self.hold(rule, wanted, rules, value)?;
        }
        Ok(())
    }

    fn hold(
        &self,
        rule: &str,
        wanted: &Value,
        rules: &serde_json::Map<String, Value>,
        value: &Value,
    ) -> Result<(), String> {
        let list = || wanted.as_array().into_iter().flatten();
        match rule {
            "additionalProperties"
            | "$schema"
            | "title"
            | "description"
            | "$defs"
            | "format"
            | "default"
            | "then"
            | "else" => {}
            "$ref" => {
                let name = wanted.as_str().unwrap_or_default();
                let found = self.0.pointer(name.trim_start_matches('#'));
                let found = found.ok_or_else(|| format!("no schema {name}"))?;
                self.fit(found, value)
                    .map_err(|why| format!("{name}: {why}"))?;
            }
            "type" => {
                let is = |name: &Value| match name.as_str().unwrap_or_default() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    "number" => value.is_number(),
                    "integer" => value.is_i64() || value.is_u64(),
                    _ => false,
                };
                let fits = if wanted.is_array() {
                    list().any(is)
                } else {
                    is(wanted)
                };
                if !fits {
                    return Err(format!("{value} is no {wanted}"));
                }
            }
            "const" if value != wanted => return Err(format!("{value} is not {wanted}")),
            "enum" if !list().any(|one| one == value) => {
                return Err(format!("{value} is none of {wanted}"));
            }
            "minimum" if value.as_f64() < wanted.as_f64() => {
                return Err(format!("{value} is under {wanted}"));
            }
            "maximum" if value.as_f64() > wanted.as_f64() => {
                return Err(format!("{value} is over {wanted}"));
            }
            "pattern" => {
                let pattern = regex::Regex::new(wanted.as_str().unwrap_or_default())
                    .map_err(|error| error.to_string())?;
                if value.as_str().is_some_and(|text| !pattern.is_match(text)) {
                    return Err(format!("{value} does not match {wanted}"));
                }
            }
            "const" | "enum" | "minimum" | "maximum" => {}
            "required" => {
                for name in list().filter_map(Value::as_str) {
                    if value.get(name).is_none() {
                        return Err(format!("`{name}` is missing"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in wanted.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(name) {
                        self.fit(schema, value)
                            .map_err(|why| format!("`{name}`: {why}"))?;
                    }
                }
            }
            "items" => {
                for value in value.as_array().into_iter().flatten() {
                    self.fit(wanted, value)?;
                }
            }
            "oneOf" | "anyOf" => {
                let tried: Vec<_> = list().map(|schema| self.fit(schema, value)).collect();
                let fitting = tried.iter().filter(|tried| tried.is_ok()).count();
                if fitting == 0 || (rule == "oneOf" && fitting > 1) {
                    return Err(format!("{fitting} of {rule} fit: {tried:?}"));
                }
            }
            "allOf" => {
                for schema in list() {
                    self.fit(schema, value)?;
                }
            }
            "not" if self.fit(wanted, value).is_ok() => {
                return Err(format!("it is what it must not be: {wanted}"));
            }
            "not" => {}
            "if" => {
                let branch = if self.fit(wanted, value).is_ok() {
                    "then"
                } else {
                    "else"
                };
                if let Some(schema) = rules.get(branch) {
                    self.fit(schema, value)?;
                }
            }
            other => return Err(format!("a rule this check does not know: {other}")),
        }
        Ok(())
    }
}
