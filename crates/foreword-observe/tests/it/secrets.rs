//! Realistic fake secrets, concatenated at run time, so that secret scanners do not report this repository.

/// A kind of secret with an example.
pub(crate) struct Secret {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

const LETTERS: &str = "Zq8Rw3Tb6Yk1Lm5Xc9Vp2Hd7Gs4FnJzQ0eUiOaBvNtKrWyMxCl";

fn made(kind: &'static str, parts: &[&str]) -> Secret {
    Secret { kind, text: parts.concat() }
}

fn letters(count: usize) -> String {
    LETTERS.chars().cycle().take(count).collect()
}

/// One of each kind recognised by form.
pub(crate) fn all() -> Vec<Secret> {
    let (l16, l24, l36, l40, l48) = (letters(16), letters(24), letters(36), letters(40), letters(48));
    let capitals: String = letters(16).to_uppercase();
    vec![
        made("Anthropic", &["sk-", "ant-", "api03-", &l48, "-", &l16, "AA"]),
        made("OpenAI, old", &["sk", "-", &l48]),
        made("OpenAI, project", &["sk-", "proj-", &l40, "_", &l24]),
        made("OpenRouter", &["sk-", "or-v1-", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"]),
        made("DeepSeek", &["sk", "-", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"]),
        made("Groq", &["gs", "k_", &l48]),
        made("Hugging Face", &["h", "f_", &l36]),
        made("GitHub", &["gh", "p_", &l36]),
        made("GitHub, server", &["gh", "s_", &l36]),
        made("GitHub, fine", &["github", "_pat_", &letters(22), "_", &l48]),
        made("GitLab", &["gl", "pat-", &letters(20)]),
        made("Slack", &["xo", "xb-", "123456789012-", "123456789012-", &l24]),
        made("Slack, app", &["xa", "pp-", "1-A0123456789-", "1234567890123-", &l36]),
        made("Stripe", &["sk", "_live_", &l24]),
        made("Stripe, test", &["rk", "_test_", &l24]),
        made("Google", &["AI", "za", &letters(35)]),
        made("Google, OAuth", &["ya", "29.", &l48]),
        made("AWS, access key", &["AK", "IA", &capitals]),
        made("AWS, session", &["AS", "IA", &capitals]),
        made("JWT", &["ey", "JhbGciOiJIUzI1NiJ9.", "ey", "JzdWIiOiIxMjM0NTY3ODkwIn0.", &l40]),
        made("Telegram", &["123456789", ":A", "A", &letters(33)]),
        made("Discord", &["MTk4NjIyNDgz", "NDcxOTI1MjQ4", ".", "Cl2FMQ", ".", &letters(27)]),
        made("Discord, longer", &["MTA5OTYyMjQ4", "MzQ3MTkyNTI0OA", ".", "GkV2x_", ".", &letters(38)]),
        made("Twilio, API key", &["S", "K", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"]),
        made("Foreword", &["fw", "d_", "abcdefghijkmnpqrstuvwxyz23456789"]),
        made("npm", &["np", "m_", &l36]),
        made("SendGrid", &["SG", ".", &letters(22), ".", &letters(43)]),
        made(
            "private key",
            &["-----BEGIN ", "PRIVATE KEY-----\n", &l48, "\n", &l24, "\n-----END ", "PRIVATE KEY-----"],
        ),
        made("private key, cut off", &["-----BEGIN RSA ", "PRIVATE KEY-----\\n", &l48, "\\n", &l24]),
    ]
}

/// The parts of a secret that must not appear.
pub(crate) fn give_away(secret: &str) -> Vec<&str> {
    let pieces = secret.split(|c: char| !c.is_ascii_alphanumeric());
    pieces.filter(|piece| piece.len() >= 12 && piece.contains(char::is_numeric)).collect()
}
