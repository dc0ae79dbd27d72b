//! What the derived schemas do not say by themselves.

use schemars::Schema;
use serde_json::{Value, json};

/// Lets the last variant of an open enum stand only for tags that no other variant has.
pub(super) fn open_enum(schema: &mut Schema, tag: &str) {
    let Some(variants) = schema.get_mut("anyOf").and_then(Value::as_array_mut) else {
        return;
    };
    let place = format!("/properties/{tag}/const");
    let known: Vec<Value> = variants
        .iter()
        .filter_map(|variant| variant.pointer(&place).cloned())
        .collect();
    if let Some(other) = variants.last_mut() {
        other["properties"] = json!({ tag: { "type": "string", "not": { "enum": known } } });
        other["required"] = json!([tag]);
    }
}

/// Says that `raw` and `reason` are there exactly when the verdict is `UNPARSED`.
pub(super) fn exactly_unparsed(schema: &mut Schema) {
    schema.insert(
        "if".to_owned(),
        json!({ "properties": { "verdict": { "const": "UNPARSED" } }, "required": ["verdict"] }),
    );
    schema.insert("then".to_owned(), json!({ "required": ["raw", "reason"] }));
    schema.insert(
        "else".to_owned(),
        json!({ "properties": { "raw": false, "reason": false } }),
    );
}
