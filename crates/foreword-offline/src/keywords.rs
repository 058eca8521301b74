//! Extracts keywords from a question, using a list of English stop words.

/// The maximum number of keywords.
const MAX_KEYWORDS: usize = 8;

/// Words that are not keywords.
const STOP_WORDS: &str = "a about again all also am an and any anybody anyone anything are aren't around as at be because \
    been but by can can't could did didn't do does doesn't don't else ever everything exactly find \
    for from get give had has hasn't have haven't he her here hers hey hi him his how i i'd i'm if \
    in into is isn't it its just kindly know let look me memory might mine must my need no not now \
    of on one or our ours out please recall remember said say says search shall she should show so \
    some somebody someone something tell than thank thanks that the their them then there these they \
    thing this those to too up us very want was we were what when where whether which who whom whose \
    why will with won't would yes you your yours yourself";

/// The distinct keywords, in order.
pub(crate) fn keywords(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in normalized_words(text) {
        if found.len() < MAX_KEYWORDS && !is_one_of(&word, STOP_WORDS) && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// The words in lower case, without punctuation and possessive suffixes.
pub(crate) fn normalized_words(text: &str) -> impl Iterator<Item = String> {
    let edge = |c: char| !c.is_alphanumeric();
    text.split(|c: char| c.is_whitespace() || "/,;:!?()[]{}\"“”".contains(c)).filter_map(move |raw| {
        let word = raw.trim_matches(edge).replace('’', "'").to_lowercase();
        let bare = word.strip_suffix("'s").or(word.strip_suffix("'re")).unwrap_or(&word);
        (!bare.is_empty()).then(|| bare.to_owned())
    })
}

/// Whether a word is in a space-separated list.
pub(crate) fn is_one_of(word: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// The number of keywords in a line; `birthday` matches `birthdays`.
pub(crate) fn matches(line: &str, wanted: &[String]) -> usize {
    let there: Vec<String> = normalized_words(line).collect();
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
    fn question_is_reduced_to_keywords() {
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
    fn keywords_match_plural_forms() {
        let wanted = keywords("carol birthdays");
        assert_eq!(matches("Carol: birthday 14 March.", &wanted), 2);
        assert_eq!(matches("Caroline's cat", &keywords("cat")), 1);
        assert_eq!(matches("a tomcat", &keywords("cat")), 0);
    }
}
