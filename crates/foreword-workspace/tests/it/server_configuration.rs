use foreword_core::api_token::ProxyMode;
use foreword_workspace::config::ClientKeys;
use foreword_workspace::config::Config;

fn problems(yaml: &str) -> String {
    let problems = Config::parse("foreword.yaml", yaml).unwrap_err();
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn server_listens_on_loopback_by_default() {
    let config = Config::defaults().unwrap();
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:7777");
    assert!(config.server.origins.is_empty() && config.server.tls.is_none());
    assert_eq!((config.server.limits.body, config.server.limits.usd_per_day), (32 * 1024 * 1024, None));
    assert_eq!((config.proxy.mode, config.proxy.client_keys), (ProxyMode::Observe, ClientKeys::Loopback));
    assert_eq!((&*config.proxy.anthropic, &*config.proxy.openai), ("anthropic", "openai"));
}

#[test]
fn server_settings_are_parsed() {
    let yaml = "\
server:
  listen: \"[::1]:0\"
  public_url: https://agent.example.org
  origins: [\"https://Desk.example.org\"]
  tls: { certificate: tls/cert.pem, key: tls/key.pem }
  limits: { body_mb: 1, usd_per_day: 2.5 }
  channels: { signal: { webhook: \"http://127.0.0.1:9000/in\", secret_env: SIGNAL_SECRET } }
proxy: { mode: replace, situation: group, openai: ollama, client_keys: never, max_retries: 0 }
";
    let config = Config::parse("foreword.yaml", yaml).unwrap();
    assert!(config.notes.is_empty(), "{:?}", config.notes);
    assert_eq!(config.server.origins, ["https://desk.example.org"]);
    assert_eq!(config.server.limits.body, 1024 * 1024);
    assert_eq!(config.server.bridges["signal"].secret_env, "SIGNAL_SECRET");
    assert_eq!((&*config.proxy.situation, &*config.proxy.openai), ("group", "ollama"));
    assert_eq!(config.proxy.max_retries, 0);
}

#[test]
fn invalid_server_settings_are_refused_with_lines() {
    let yaml = "\
server:
  listen: everywhere
  public_url: agent.example.org
  origins: [\"https://desk.example.org/page\"]
  limits: { body_mb: 0, usd_per_day: -1 }
  channels:
    Signal!: { webhook: \"http://127.0.0.1:9000/in\", secret_env: SIGNAL_SECRET }
    sms: { webhook: \"http://127.0.0.1:9000/in\", secret_env: hunter2 }
proxy: { agent: Bea, situation: grup, anthropic: openai, openai: opnai }
";
    insta::assert_snapshot!(problems(yaml));
    assert!(!problems(yaml).contains("hunter2"));
}

#[test]
fn unencrypted_public_addresses_are_noted() {
    let config = Config::parse("foreword.yaml", "server: { listen: \"0.0.0.0:7777\" }").unwrap();
    assert!(config.notes[0].message.contains("others can reach without encryption"), "{:?}", config.notes);
    let tls = "server: { listen: \"0.0.0.0:7777\", tls: { certificate: c.pem, key: k.pem } }";
    assert!(Config::parse("foreword.yaml", tls).unwrap().notes.is_empty());
}
