//! A strict parser of the Prometheus text format, version 0.0.4. Rejects samples outside their family, missing types,
//! decreasing buckets, invalid names and labels, and duplicate series.

use std::collections::{BTreeMap, BTreeSet};

/// A sample line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// A parsed page.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    pub(crate) families: Vec<(String, String)>,
    pub(crate) samples: Vec<Sample>,
}

impl Exposition {
    /// Parses `text`.
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has no end");
        let mut page = Self::default();
        let mut help: Option<&str> = None;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, words) = rest.split_once(' ').unwrap();
                assert!(is_name(name) && !words.is_empty(), "{line}");
                help = Some(name);
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(help, Some(name), "help stands in front of the type: {line}");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert!(page.families.iter().all(|(known, _)| known != name), "twice: {line}");
                page.families.push((name.to_owned(), kind.to_owned()));
            } else {
                let sample = sample(line);
                let (family, kind) = page.families.last().unwrap();
                let parts: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(parts.iter().any(|part| sample.name == format!("{family}{part}")), "{line}");
                page.samples.push(sample);
            }
        }
        page.check();
        page
    }

    /// The value of the series with these labels.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels: BTreeMap<_, _> =
            labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.samples.iter().find(|one| one.name == name && one.labels == labels).map(|one| one.value)
    }

    fn check(&self) {
        let mut seen = BTreeSet::new();
        for sample in &self.samples {
            assert!(seen.insert((&sample.name, &sample.labels)), "twice: {sample:?}");
            assert!(sample.value.is_finite() && sample.value >= 0.0, "{sample:?}");
        }
        for (family, _) in self.families.iter().filter(|(_, kind)| kind == "histogram") {
            self.check_histogram(family);
        }
    }

    fn check_histogram(&self, family: &str) {
        let mut series: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
        for sample in self.samples.iter().filter(|one| one.name == format!("{family}_bucket")) {
            let mut labels = sample.labels.clone();
            let bound = labels.remove("le").unwrap();
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
            series.entry(labels).or_default().push((bound, sample.value));
        }
        for (labels, buckets) in series {
            assert!(buckets.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1), "{family}");
            let labels: Vec<(&str, &str)> = labels.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            let (bound, all) = *buckets.last().unwrap();
            assert!(bound.is_infinite(), "{family} does not end in +Inf");
            assert_eq!(self.value(&format!("{family}_count"), &labels), Some(all), "{family}");
            assert!(self.value(&format!("{family}_sum"), &labels).is_some(), "{family}");
        }
    }
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(plain) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).unwrap();
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").unwrap();
            assert!(is_name(label), "{line}");
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
            if let Some(after) = after.strip_prefix('}') {
                rest = after;
                break;
            }
            rest = after.strip_prefix(',').unwrap_or_else(|| panic!("{line}"));
        }
    }
    let value = rest.strip_prefix(' ').unwrap();
    assert!(!value.contains(' '), "{line}");
    Sample { name: name.to_owned(), labels, value: value.parse().unwrap() }
}

/// The text up to the closing quotation mark, and the rest.
fn quoted(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (out, &text[at + 1..]),
            '\\' => out.push(match characters.next().unwrap().1 {
                'n' => '\n',
                same @ ('\\' | '"') => same,
                other => panic!("nothing is escaped as \\{other}"),
            }),
            other => out.push(other),
        }
    }
    panic!("no end of {text}");
}
