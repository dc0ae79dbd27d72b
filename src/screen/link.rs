//! The links of a screen (OSC 8): what a child may link to, and how much of it is kept.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits;

/// The kinds of address that pass.
const SCHEMES: [&str; 4] = ["http:", "https:", "file:", "mailto:"];
/// Longest id a child may give a link.
const ID_BYTES: usize = 256;

/// The number of a link on its screen; never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LinkId(NonZeroU32);

/// A link: printable ASCII, of a scheme that is let through.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Link {
    /// What the child calls it; cells of one id belong together.
    pub id: Option<String>,
    /// Where it leads.
    pub uri: String,
}

impl Link {
    /// Reads what follows `8;`: parameters and the address. `None`: it ends a link, or leads where none may lead.
    fn parse(body: &[u8]) -> Option<Self> {
        let split = body.iter().position(|b| *b == b';')?;
        let (params, uri) = (&body[..split], &body[split + 1..]);
        if uri.len() > limits::LINK_BYTES || !uri.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let uri = std::str::from_utf8(uri).ok()?;
        let is_let = |scheme: &&str| {
            uri.get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        SCHEMES.iter().find(|scheme| is_let(scheme))?;
        let id = params
            .split(|b| *b == b':')
            .filter_map(|param| param.strip_prefix(b"id="))
            .find(|id| (1..=ID_BYTES).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic));
        Some(Self {
            id: id.map(|id| String::from_utf8_lossy(id).into_owned()),
            uri: uri.to_owned(),
        })
    }
}

/// The links kept, the latest ones.
#[derive(Debug, Default)]
pub(super) struct Links {
    kept: VecDeque<Arc<Link>>,
    /// Links forgotten.
    gone: u32,
    ids: HashMap<Arc<Link>, LinkId>,
}

impl Links {
    /// All that is kept, oldest first, and how many were forgotten.
    pub(super) fn kept(&self) -> (Vec<Link>, u32) {
        let kept = self.kept.iter().map(|link| (**link).clone());
        (kept.collect(), self.gone)
    }

    /// The links that were kept before; none when their numbers do not fit.
    pub(super) fn of((kept, gone): (Vec<Link>, u32)) -> Option<Self> {
        let mut links = Self {
            gone,
            ..Self::default()
        };
        for link in kept {
            let number = u32::try_from(links.kept.len()).ok()?.checked_add(1)?;
            let id = LinkId(NonZeroU32::new(gone.checked_add(number)?)?);
            let link = Arc::new(link);
            links.kept.push_back(Arc::clone(&link));
            links.ids.insert(link, id);
        }
        (links.kept.len() <= limits::LINKS).then_some(links)
    }

    /// Opens the link of an OSC 8, or closes the one before.
    pub(super) fn open(&mut self, body: &[u8]) -> Option<LinkId> {
        let link = Link::parse(body)?;
        if let Some(id) = self.ids.get(&link) {
            return Some(*id);
        }
        let id = self
            .gone
            .checked_add(u32::try_from(self.kept.len()).ok()?)
            .and_then(|number| number.checked_add(1))
            .and_then(NonZeroU32::new)
            .map(LinkId)?;
        if self.kept.len() == limits::LINKS
            && let Some(oldest) = self.kept.pop_front()
        {
            self.ids.remove(&oldest);
            self.gone += 1;
        }
        let link = Arc::new(link);
        self.kept.push_back(Arc::clone(&link));
        self.ids.insert(link, id);
        Some(id)
    }

    /// The link of a number, while it is kept.
    pub(super) fn get(&self, id: LinkId) -> Option<&Link> {
        let place = (id.0.get() - 1).checked_sub(self.gone)?;
        self.kept.get(place as usize).map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_are_let_through_are_links() {
        for (body, wanted) in [
            (";https://a.b/c;d", Some((None, "https://a.b/c;d"))),
            ("id=7:x=y;HTTP://x", Some((Some("7"), "HTTP://x"))),
            ("x=y;mailto:a@b", Some((None, "mailto:a@b"))),
            (";file:///a%20b", Some((None, "file:///a%20b"))),
            (";", None),
            ("", None),
            (";javascript:alert(1)", None),
            (";ssh://x", None),
            (";https://a b", None),
            (";https://\u{e9}", None),
            (";https://a\u{7}b", None),
        ] {
            let link = Link::parse(body.as_bytes());
            let link = link.as_ref().map(|link| (link.id.as_deref(), &*link.uri));
            assert_eq!(link, wanted, "{body}");
        }
        let long = |length| format!(";https:{}", "x".repeat(length - 6));
        assert!(Link::parse(long(limits::LINK_BYTES).as_bytes()).is_some());
        assert!(Link::parse(long(limits::LINK_BYTES + 1).as_bytes()).is_none());
    }

    #[test]
    fn the_oldest_link_goes_and_no_number_comes_twice() {
        let mut links = Links::default();
        let open = |links: &mut Links, n: usize| links.open(format!(";http:{n}").as_bytes());
        let first = open(&mut links, 0);
        assert_eq!(open(&mut links, 0), first);
        let ids: Vec<_> = (1..=limits::LINKS).map(|n| open(&mut links, n)).collect();
        assert_eq!(first.and_then(|id| links.get(id)), None);
        for (n, id) in (1..).zip(ids) {
            let uri = id.and_then(|id| links.get(id)).map(|link| link.uri.clone());
            assert_eq!(uri, Some(format!("http:{n}")));
        }
        assert_ne!(open(&mut links, 0), first);
    }
}
