//! The schemas in `assets/schema/` are the ones of the record types, and records as they were keep being readable.
//!
//! `CODRIVER_WRITE_SCHEMA=1 cargo test --test recording_schema` writes them anew.

use std::path::Path;

use codriver::recording::event::Entry;
use codriver::recording::export::Export;
use codriver::recording::receipt::Receipt;
use codriver::recording::replay::Replay;
use codriver::recording::result::{Extract, Round};
use codriver::recording::review::{Panel, Review};
use codriver::recording::session::Session;
use codriver::recording::summary::Sessions;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

type Test = Result<(), Box<dyn std::error::Error>>;

fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
}

#[test]
fn the_schemas_are_the_ones_of_the_types() -> Test {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/schema");
    let schemas = [
        ("round", schema::<Round>()),
        ("extract", schema::<Extract>()),
        ("review", schema::<Review>()),
        ("panel", schema::<Panel>()),
        ("receipt", schema::<Receipt>()),
        ("event", schema::<Entry>()),
        ("session", schema::<Session>()),
        ("replay", schema::<Replay>()),
        ("export", schema::<Export>()),
        ("sessions", schema::<Sessions>()),
    ];
    for (name, schema) in schemas {
        let path = folder.join(format!("{name}.json"));
        let wanted = serde_json::to_string_pretty(&schema)? + "\n";
        if std::env::var_os("CODRIVER_WRITE_SCHEMA").is_some() {
            std::fs::write(&path, &wanted)?;
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == wanted,
            "{} is not the schema of its type; see the head of this test",
            path.display()
        );
    }
    Ok(())
}
