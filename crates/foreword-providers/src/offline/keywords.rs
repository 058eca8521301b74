//! The words of a question that are worth looking for. Knows English stop words and nothing of grammar.

/// The most words a search is made with.
const MOST: usize = 8;

/// Words that say what is wanted, not what it is about.
const STOP_WORDS: &str = "a about again all also am an and any anybody anyone anything are aren't around as at be because \
    been but by can can't could did didn't do does doesn't don't else ever everything exactly find \
    for from get give had has hasn't have haven't he her here hers hey hi him his how i i'd i'm if \
    in into is isn't it its just kindly know let look me memory might mine must my need no not now \
    of on one or our ours out please recall remember said say says search shall she should show so \
    some somebody someone something tell than thank thanks that the their them then there these they \
    thing this those to too up us very want was we were what when where whether which who whom whose \
    why will with won't would yes you your yours yourself";

/// The words worth looking for, in order and each once.
pub(super) fn keywords(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words(text) {
        if found.len() < MOST && !is_one_of(&word, STOP_WORDS) && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// Every word in small letters, without what stands around it or a possessive behind it.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let edge = |c: char| !c.is_alphanumeric();
    text.split(|c: char| c.is_whitespace() || "/,;:!?()[]{}\"“”".contains(c)).filter_map(move |raw| {
        let word = raw.trim_matches(edge).replace('’', "'").to_lowercase();
        let bare = word.strip_suffix("'s").or(word.strip_suffix("'re")).unwrap_or(&word);
        (!bare.is_empty()).then(|| bare.to_owned())
    })
}

/// Whether a word is in a list of words with spaces between them.
pub(super) fn is_one_of(word: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// How many of `wanted` a line speaks of; `birthday` is found in `birthdays`.
pub(super) fn matches(line: &str, wanted: &[String]) -> usize {
    let there: Vec<String> = words(line).collect();
    wanted.iter().filter(|word| there.iter().any(|found| is_form_of(found, word))).count()
}

fn is_form_of(found: &str, wanted: &str) -> bool {
    let stem = wanted.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(wanted);
    found == wanted || (stem.len() > 2 && found.starts_with(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_reduced_to_what_it_is_about() {
        for (question, expected) in [
            ("what's Carol's birthday?", "carol birthday"),
            ("When is Carol’s birthday?", "carol birthday"),
            ("What do you know about the boiler, the boiler?", "boiler"),
            ("Who is Dr. Sousa?", "dr sousa"),
            ("Wann hat Jürgen Geburtstag?", "wann hat jürgen geburtstag"),
            ("what is it?", ""),
            ("¿¡…!?", ""),
        ] {
            assert_eq!(keywords(question).join(" "), expected, "{question}");
        }
    }

    #[test]
    fn a_line_speaks_of_a_word_in_its_other_forms() {
        let wanted = keywords("carol birthdays");
        assert_eq!(matches("Carol: birthday 14 March.", &wanted), 2);
        assert_eq!(matches("Caroline's cat", &keywords("cat")), 1);
        assert_eq!(matches("a tomcat", &keywords("cat")), 0);
    }
}
