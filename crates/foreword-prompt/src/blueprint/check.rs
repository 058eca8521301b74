//! Validates a written blueprint and reports all problems.

use std::collections::BTreeMap;

use serde_saphyr::Location;

use super::spec::{BlueprintSpec, LayerSpec, SourceSpec};
use super::{Blueprint, BlueprintProblem, builtin};
use crate::diagnostic::did_you_mean;
use crate::file_rules::plain_path;
use crate::layer::{
    Authority, Dynamic, FileSelection, FileSource, Fit, Layer, LayerId, Mutable, Overflow, Source, Stability,
};
use crate::trust::Trust;

pub(super) fn blueprint(name: &str, spec: &BlueprintSpec) -> Result<Blueprint, Vec<BlueprintProblem>> {
    let mut problems = Vec::new();
    let mut layers: Vec<Layer> = Vec::new();
    let mut written_at = Vec::new();
    for layer in &spec.layers {
        match parse_layer(layer) {
            Ok(parsed) => {
                layers.push(parsed);
                written_at.push(layer.id.defined);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if spec.layers.is_empty() {
        problems.push(BlueprintProblem {
            message: "there are no layers".to_owned(),
            help: Some("give it at least one layer, or use a built-in blueprint".into()),
            location: Location::UNKNOWN,
        });
    }
    problems.extend(repeated_ids(&layers, &written_at));
    if !spec.allow_cache_unsafe {
        problems.extend(out_of_cache_order(&layers, &written_at));
    }
    problems.extend(menus_nobody_shows(&layers, &written_at));
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Blueprint {
        name: name.into(),
        separator: spec.separator.as_deref().unwrap_or("\n\n").into(),
        allow_cache_unsafe: spec.allow_cache_unsafe,
        compact_below: spec.compact_below,
        max_chars: spec.max_chars,
        layers,
    })
}

fn parse_layer(spec: &LayerSpec) -> Result<Layer, BlueprintProblem> {
    let at = spec.id.defined;
    let problem =
        |message: String, help: &str| BlueprintProblem { message, help: Some(help.into()), location: at };
    let id = LayerId::parse(&spec.id.value).ok_or_else(|| {
        problem(
            format!("`{}` is not a valid layer id", spec.id.value.escape_debug()),
            "use letters, digits, `_`, `-`, `.` and `/`, at most 128",
        )
    })?;
    let authority = spec.authority.unwrap_or(Authority::Instructions);
    let mut source = parse_source(&spec.source.value, spec.source.defined)?;
    let least = least_trust(&mut source, spec);
    let overflow = spec.overflow.unwrap_or(match authority {
        Authority::Policy => Overflow::Reject,
        _ => Overflow::HeadTail,
    });
    if authority == Authority::Policy && overflow != Overflow::Reject {
        return Err(problem(
            format!("policy layer `{id}` may not be cut"),
            "remove `overflow`, or give the layer another `authority`",
        ));
    }
    if matches!(source, Source::Dynamic(_)) && spec.stability != Stability::Turn {
        return Err(problem(
            format!("layer `{id}` is made each turn, so it can't be frozen as `{}`", spec.stability),
            "set `stability: turn`",
        ));
    }
    if spec.mutable.is_some() != matches!(source, Source::Stored { .. }) {
        return Err(problem(
            format!("layer `{id}`: `mutable` and a `stored` source go together"),
            "give it both, or neither",
        ));
    }
    if spec.priority.is_some_and(|priority| priority > 100) {
        return Err(problem(
            format!("layer `{id}`: `priority` is above 100"),
            "use 0 to 100; the lowest is cut first",
        ));
    }
    Ok(Layer {
        title: spec.title.clone().unwrap_or_else(|| id.to_string()),
        id,
        authority,
        stability: spec.stability,
        trust: spec.trust.unwrap_or(least),
        source,
        heading: spec.heading.clone(),
        merge: spec.merge.unwrap_or_default(),
        fit: Fit {
            overflow,
            priority: spec.priority.unwrap_or(50),
            min_tokens: spec.min_tokens.unwrap_or(0),
            max_tokens: spec.max_tokens,
        },
        mutable: spec.mutable.map(|mutable| Mutable { max_chars: mutable.max_chars }),
        compact: spec.compact.clone(),
    })
}

/// The trust of a layer without `trust`. Files have their own trust, so the layer requires none; an explicit trust
/// applies to files without a rule.
fn least_trust(source: &mut Source, spec: &LayerSpec) -> Trust {
    match source {
        Source::File(file) => {
            if spec.source.value.unlisted.is_none()
                && let Some(written) = spec.trust
            {
                file.unlisted = written;
            }
            Trust::Public
        }
        Source::Files(_) => Trust::Public,
        _ => Trust::Full,
    }
}

fn parse_source(spec: &SourceSpec, at: Location) -> Result<Source, BlueprintProblem> {
    let problem = |message: String, help: Option<String>| BlueprintProblem { message, help, location: at };
    let known_text = |name: &str| {
        if name.contains('{') || builtin::text(name).is_some() {
            return Ok(name.to_owned());
        }
        let help = match did_you_mean(name, builtin::text_names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "see `docs/blueprints.md` for the built-in texts".to_owned(),
        };
        Err(problem(format!("there is no built-in text `{name}`"), Some(help)))
    };
    let file = |path: &str| {
        plain_path(path).map_err(|reason| {
            let help = "name a file below the workspace".to_owned();
            problem(format!("file `{}`: {reason}", path.escape_debug()), Some(help))
        })
    };
    let mut found = Vec::new();
    if let Some(path) = &spec.file {
        let builtin = spec.builtin.as_deref().map(known_text).transpose()?;
        found.push(Source::File(FileSource {
            path: file(path)?,
            required: spec.required,
            unlisted: spec.unlisted.unwrap_or(Trust::Full),
            builtin,
        }));
    } else if let Some(name) = &spec.builtin {
        found.push(Source::Builtin { name: known_text(name)?, active_skills: spec.active_skills });
    }
    found.extend(spec.text.as_deref().map(|text| Source::Text(text.into())));
    if let Some(files) = &spec.files {
        let all = |paths: &[String]| paths.iter().map(|path| file(path)).collect::<Result<Vec<_>, _>>();
        let (only, except) = (all(&files.only)?, all(&files.except)?);
        found.push(Source::Files(FileSelection { only, except, per_user: files.per_user }));
    }
    found.extend(spec.overlay.map(|_| Source::Overlay));
    if let Some(path) = &spec.template {
        let path = (path != "configured").then(|| file(path)).transpose()?;
        found.push(Source::Template { path, dialect: spec.dialect });
    }
    found.extend(spec.instructions.map(|_| Source::Instructions));
    if let Some(name) = &spec.stored {
        found.push(Source::Stored { default: known_text(name)? });
    }
    found.extend(spec.generated.map(Source::Generated));
    found.extend(spec.dynamic.map(Source::Dynamic));
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(source), None) => Ok(source),
        (None, _) => Err(problem(
            "a layer needs a source".into(),
            Some("one of `builtin`, `text`, `file`, `files`, `overlay`, `template`, `instructions`, `stored`, `generated`, `dynamic`".into()),
        )),
        (Some(one), Some(other)) => Err(problem(
            format!("a layer has one source, not both `{}` and `{}`", key_of(&one), key_of(&other)),
            Some("split it into two layers".into()),
        )),
    }
}

/// The key a source is written under.
fn key_of(source: &Source) -> &'static str {
    match source {
        Source::Builtin { .. } => "builtin",
        Source::Text(_) => "text",
        Source::File(_) => "file",
        Source::Files(_) => "files",
        Source::Overlay => "overlay",
        Source::Template { .. } => "template",
        Source::Instructions => "instructions",
        Source::Stored { .. } => "stored",
        Source::Generated(_) => "generated",
        Source::Dynamic(_) => "dynamic",
    }
}

fn repeated_ids(layers: &[Layer], written_at: &[Location]) -> Vec<BlueprintProblem> {
    let mut first = BTreeMap::new();
    let mut problems = Vec::new();
    for (layer, at) in layers.iter().zip(written_at) {
        if first.insert(layer.id.clone(), ()).is_some() {
            problems.push(BlueprintProblem {
                message: format!("layer id `{}` is used twice", layer.id),
                help: Some("rename one of them".into()),
                location: *at,
            });
        }
    }
    problems
}

fn out_of_cache_order(layers: &[Layer], written_at: &[Location]) -> Vec<BlueprintProblem> {
    layers
        .windows(2)
        .zip(written_at.windows(2))
        .filter(|(pair, _)| pair[0].stability > pair[1].stability)
        .map(|(pair, at)| BlueprintProblem {
            message: format!(
                "layer `{}` ({}) follows `{}` ({}), which changes more often and would invalidate its cache",
                pair[1].id, pair[1].stability, pair[0].id, pair[0].stability
            ),
            help: Some(format!(
                "move `{}` before `{}`, or set `allow_cache_unsafe: true` and see the price in `foreword explain`",
                pair[1].id, pair[0].id
            )),
            location: at[1],
        })
        .collect()
}

fn menus_nobody_shows(layers: &[Layer], written_at: &[Location]) -> Vec<BlueprintProblem> {
    if layers.iter().any(|layer| layer.source == Source::Dynamic(Dynamic::MemoryMenu)) {
        return Vec::new();
    }
    let moved = |(layer, _): &(&Layer, &Location)| layer.fit.overflow == Overflow::Menu;
    let problem = |(layer, at): (&Layer, &Location)| BlueprintProblem {
        message: format!("layer `{}` moves to the menu, but this blueprint shows none", layer.id),
        help: Some(
            "add a layer with `source: { dynamic: memory_menu }`, or use `overflow: head_tail`".into(),
        ),
        location: *at,
    };
    layers.iter().zip(written_at).filter(moved).map(problem).collect()
}
