//! The merging of the layers: the highest one that sets a key wins, and a list that only narrows is added to.

use std::collections::BTreeMap;

use toml::Value;

use super::fault::Place;
use super::key::Key;
use super::settings::Entry;

/// One value of one layer; an empty table is a value too, since it enables a runner.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub key: Key,
    pub value: Value,
    pub place: Place,
}

/// A route of the repository that took the place of the person's own.
pub(super) struct Displaced {
    pub by: Leaf,
    pub was: Leaf,
}

/// The values in force, each from the highest layer that set it.
#[derive(Default)]
pub(super) struct Merged {
    order: Vec<Key>,
    leaves: BTreeMap<Key, Leaf>,
}

impl Merged {
    /// Puts a value of a higher layer over what stands there; a list that only narrows is added to.
    pub(super) fn set(&mut self, mut leaf: Leaf) -> Option<Displaced> {
        let was = self.leaves.get(&leaf.key).cloned();
        if let Some(was) = &was
            && leaf.key == Key::of("oracle.denylist")
        {
            leaf.value = union(&was.value, &leaf.value);
        }
        if was.is_none() {
            self.order.push(leaf.key.clone());
        }
        self.leaves.insert(leaf.key.clone(), leaf.clone());
        was.map(|was| Displaced { by: leaf, was })
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Leaf> {
        self.leaves.get(key)
    }

    pub(super) fn under<'m>(&'m self, key: &'m Key) -> impl Iterator<Item = &'m Leaf> {
        let depth = key.parts().len();
        self.leaves.values().filter(move |leaf| {
            let parts = leaf.key.parts();
            parts.len() >= depth && parts[..depth] == key.parts()[..]
        })
    }

    pub(super) fn has_under(&self, key: &Key) -> bool {
        self.under(key).next().is_some()
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Leaf) -> bool) {
        self.leaves.retain(|_, leaf| keep(leaf));
        self.order.retain(|key| self.leaves.contains_key(key));
    }

    pub(super) fn entries(mut self) -> Vec<Entry> {
        self.order
            .iter()
            .filter_map(|key| self.leaves.remove(key))
            .map(|leaf| Entry {
                key: leaf.key,
                value: leaf.value,
                origin: leaf.place.origin,
            })
            .collect()
    }
}

fn union(below: &Value, above: &Value) -> Value {
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut all = items(below);
    for item in items(above) {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    Value::Array(all)
}
