//! Properties of shapes of arbitrary requests.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::*;
use super::script::KEY;
use crate::price::CacheTtl;

#[derive(Debug, Clone)]
struct Texts {
    tools: Vec<String>,
    system: Vec<(String, usize, bool)>,
    messages: Vec<(String, bool)>,
}

fn any_texts() -> impl Strategy<Value = Texts> {
    let text = || "[a-zäß .\n]{1,200}";
    (
        prop::collection::vec(text(), 0..4),
        prop::collection::vec((text(), 0..200_usize, any::<bool>()), 0..3),
        prop::collection::vec((text(), any::<bool>()), 1..6),
    )
        .prop_map(|(tools, system, messages)| Texts { tools, system, messages })
}

impl Texts {
    fn shape(&self) -> RequestShape {
        let ttl = |marked: bool| marked.then_some(CacheTtl::FiveMinutes);
        let mut builder = RequestShape::builder(&KEY, "m");
        for (index, tool) in self.tools.iter().enumerate() {
            builder = builder.tool(&format!("t{index}"), tool.as_str());
        }
        for (text, border, marked) in &self.system {
            let border = (*border).min(text.len());
            builder = builder.system_block(
                text.as_str(),
                &[("l0", 0..border), ("l1", border..text.len())],
                ttl(*marked),
            );
        }
        for (text, marked) in &self.messages {
            builder = builder.message("user", text.as_str(), ttl(*marked));
        }
        builder.build()
    }

    /// The text of section `index`, and the offset of its second layer.
    fn section(&mut self, index: usize) -> (&mut String, usize) {
        let (tools, blocks) = (self.tools.len(), self.system.len());
        if index < tools {
            return (&mut self.tools[index], 0);
        }
        match self.system.get_mut(index - tools) {
            Some((text, border, _)) => {
                let border = (*border).min(text.len());
                (text, border)
            }
            None => (&mut self.messages[index - tools - blocks].0, 0),
        }
    }
}

proptest! {
    #[test]
    fn extended_request_never_diverges(texts in any_texts(), more in any_texts()) {
        let shape = texts.shape();
        let mut longer = texts.clone();
        longer.messages.extend(more.messages);
        for other in [shape.clone(), longer.shape()] {
            let divergence = compare(&shape, &other);
            prop_assert!(matches!(divergence, Divergence::None { .. }), "{:?}", divergence);
        }
    }

    #[test]
    fn changed_byte_is_located_within_64_bytes(
        mut texts in any_texts(), section in any::<prop::sample::Index>(), place in any::<prop::sample::Index>()
    ) {
        // Without breakpoints the whole request is compared.
        texts.system.iter_mut().for_each(|(_, _, marked)| *marked = false);
        texts.messages.iter_mut().for_each(|(_, marked)| *marked = false);
        let shape = texts.shape();
        let section = section.index(shape.sections().len());
        let mut changed = texts.clone();
        let (text, border) = changed.section(section);
        let plain: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii()).map(|(at, _)| at).collect();
        prop_assume!(!plain.is_empty());
        let at = plain[place.index(plain.len())];
        text.replace_range(at..=at, "7");
        let Divergence::At(difference) = compare(&shape, &changed.shape()) else {
            return Err(TestCaseError::fail("not found"));
        };
        prop_assert_eq!(&difference.section, &shape.sections()[section].name);
        let in_layer = if border > 0 && at >= border { at - border } else { at };
        let bytes = difference.bytes.clone().unwrap_or_default();
        prop_assert!(bytes.contains(&in_layer) && bytes.len() <= 64, "{} in {:?}", in_layer, bytes);
    }

    #[test]
    fn stored_shape_contains_no_text(texts in any_texts()) {
        let stored = serde_json::to_string(&texts.shape()).unwrap();
        let there: BTreeSet<&[u8]> = stored.as_bytes().windows(8).collect();
        let system = texts.system.iter().map(|(text, _, _)| text);
        let messages = texts.messages.iter().map(|(text, _)| text);
        for text in texts.tools.iter().chain(system).chain(messages) {
            for run in text.as_bytes().windows(8) {
                prop_assert!(!there.contains(run));
            }
        }
    }

    #[test]
    fn stored_shapes_round_trip(texts in any_texts()) {
        let shape = texts.shape();
        prop_assert_eq!(RequestShape::from_stored(&serde_json::to_string(&shape).unwrap()), Some(shape));
    }

    #[test]
    fn invalid_stored_shapes_are_ignored(text in any::<String>()) {
        prop_assert_eq!(RequestShape::from_stored(&text), None);
    }
}
