//! Rules for all routes of the OpenAPI document, so that they also apply to new routes.

use foreword_core::api_token::Scope;
use serde_json::{Map, Value, json};

use crate::test_app::{TestApp, read};

/// Routes without a token: health checks, the files of the pages, and signing in.
const OPEN: [(&str, &str); 9] = [
    ("GET", "/"),
    ("GET", "/assets/{file}"),
    ("GET", "/docs"),
    ("GET", "/docs/reader.css"),
    ("GET", "/docs/reader.js"),
    ("GET", "/healthz"),
    ("GET", "/icon.svg"),
    ("GET", "/readyz"),
    ("POST", "/api/v1/session"),
];
/// Routes for any token, without a scope.
const ANY_TOKEN: [(&str, &str); 4] = [
    ("DELETE", "/api/v1/session"),
    ("GET", "/api/v1/session"),
    ("GET", "/openapi.json"),
    ("GET", "/system-prompt/variables"),
];

/// A method and path.
struct Route {
    method: String,
    path: String,
    operation: Value,
}

impl Route {
    /// The path with a value for each parameter.
    fn filled(&self) -> String {
        let parameters = self.operation["parameters"].as_array().cloned().unwrap_or_default();
        let is_number = |part: &str| {
            let named = |one: &Value| one["in"] == "path" && one["name"] == part.trim_matches(['{', '}']);
            parameters.iter().any(|one| named(one) && one["schema"]["type"] == "integer")
        };
        let part = |part: &str| match part {
            part if !part.starts_with('{') => part.to_owned(),
            part if is_number(part) => "1".to_owned(),
            _ => "x".to_owned(),
        };
        self.path.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    fn is_one_of(&self, routes: &[(&str, &str)]) -> bool {
        routes.contains(&(&self.method, &self.path))
    }

    /// Whether a provider or protocol defines its schemas.
    fn is_of_others(&self) -> bool {
        ["drop-in", "mcp"].iter().any(|tag| self.operation["tags"][0] == *tag)
    }

    /// The scopes in its security requirement.
    fn scopes(&self) -> Vec<Scope> {
        let bearer = self.operation["security"][0]["bearer"].as_array().cloned().unwrap_or_default();
        bearer.iter().map(|scope| scope.as_str().unwrap().parse().unwrap()).collect()
    }
}

async fn document(app: &TestApp) -> Value {
    let (status, document) = app.get("/openapi.json", &app.carol).await;
    assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
    document
}

fn routes(document: &Value) -> Vec<Route> {
    let paths = document["paths"].as_object().unwrap();
    let of = |(path, item): (&String, &Value)| -> Vec<Route> {
        let methods = item.as_object().unwrap().iter();
        let methods =
            methods.filter(|(name, _)| ["get", "put", "post", "delete", "patch"].contains(&name.as_str()));
        methods
            .map(|(method, operation)| Route {
                method: method.to_uppercase(),
                path: path.clone(),
                operation: operation.clone(),
            })
            .collect()
    };
    paths.iter().flat_map(of).collect()
}

/// A value that a schema accepts.
fn sample(schema: &Value, document: &Value) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        return sample(&document["components"]["schemas"][name.rsplit('/').next().unwrap()], document);
    }
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().filter_map(|part| sample(part, document).as_object().cloned());
        return Value::Object(parts.flatten().collect::<Map<_, _>>());
    }
    if let Some(parts) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        return sample(&parts[0], document);
    }
    let kind = schema["type"].as_str().or(schema["type"][0].as_str());
    match kind {
        Some("string") => json!("x"),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        _ => {
            let needed = schema["required"].as_array().cloned().unwrap_or_default();
            let field = |name: &Value| {
                let name = name.as_str().unwrap();
                (name.to_owned(), sample(&schema["properties"][name], document))
            };
            Value::Object(needed.iter().map(field).collect())
        }
    }
}

/// Sends a request as documented.
async fn ask(app: &TestApp, route: &Route, document: &Value, token: Option<&str>) -> (u16, Value) {
    let method = route.method.parse().unwrap();
    let needed = route.operation["parameters"].as_array().into_iter().flatten();
    let needed = needed.filter(|one| one["in"] == "query" && one["required"] == true);
    let query: Vec<String> = needed.map(|one| format!("{}=x", one["name"].as_str().unwrap())).collect();
    let url = format!("{}{}?{}", app.url, route.filled(), query.join("&"));
    let mut request = app.client.request(method, url);
    if let Some(content) = route.operation["requestBody"]["content"].as_object() {
        let (kind, body) = content.iter().next().unwrap();
        request = request.header("content-type", kind).body(sample(&body["schema"], document).to_string());
    }
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let response = request.send().await.unwrap();
    // Drop-in endpoints have the provider's error format; the code is in a header.
    let code = response.headers().get("x-foreword-error").map(|code| json!(code.to_str().unwrap()));
    let (status, mut answer) = read(response).await;
    if let (Some(code), Some(answer)) = (code, answer.as_object_mut()) {
        answer.insert("code".to_owned(), code);
    }
    (status, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_requires_a_valid_token() {
    let app = TestApp::start().await;
    let document = document(&app).await;
    for route in routes(&document) {
        let open = route.is_one_of(&OPEN);
        let wrong = format!("fwd_{}", "a".repeat(32));
        for token in [None, Some(wrong.as_str()), Some("fwd_short"), Some("")] {
            let (status, answer) = ask(&app, &route, &document, token).await;
            if open {
                assert!(status != 401 && status < 500, "{} {}: {status}", route.method, route.path);
            } else {
                let code = answer["code"].as_str();
                assert_eq!((status, code), (401, Some("unauthorized")), "{} {}", route.method, route.path);
            }
        }
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_rejects_tokens_with_other_scopes() {
    let app = TestApp::start().await;
    let document = document(&app).await;
    let nothing = app.token("alice", &[], None).await;
    for route in routes(&document) {
        // The scopes of a tool are checked when it is called.
        if route.is_one_of(&OPEN) || route.path == "/mcp" {
            continue;
        }
        let (status, answer) = ask(&app, &route, &document, Some(&nothing)).await;
        let name = format!("{} {}: {answer}", route.method, route.path);
        if route.is_one_of(&ANY_TOKEN) {
            assert!((200..300).contains(&status), "{name}");
            continue;
        }
        assert_eq!((status, answer["code"].as_str()), (403, Some("scope_missing")), "{name}");
        let scopes = route.scopes();
        if scopes.is_empty() {
            continue;
        }
        let others: Vec<Scope> = Scope::ALL.into_iter().filter(|scope| !scopes.contains(scope)).collect();
        let others = app.token("alice", &others, None).await;
        let (status, answer) = ask(&app, &route, &document, Some(&others)).await;
        assert_eq!((status, answer["code"].as_str()), (403, Some("scope_missing")), "{name}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documented_routes_answer_as_documented() {
    let app = TestApp::start().await;
    let document = document(&app).await;
    let all = app.token("alice", &Scope::ALL, None).await;
    for route in routes(&document).into_iter().filter(|route| !route.is_of_others()) {
        let (status, answer) = ask(&app, &route, &document, Some(&all)).await;
        let name = format!("{} {}: {status} {answer}", route.method, route.path);
        assert!(status != 405 && status < 500, "{name}");
        // A missing resource would be named otherwise.
        let detail = answer["detail"].as_str().unwrap_or_default();
        assert!(!detail.starts_with("there is no route"), "{name}");
        assert!(route.operation["responses"].get(status.to_string()).is_some(), "not documented: {name}");
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_described() {
    let app = TestApp::start().await;
    let document = document(&app).await;
    let tags = document["tags"].as_array().unwrap();
    let mut ids: Vec<String> = Vec::new();
    for route in routes(&document) {
        let operation = &route.operation;
        let name = format!("{} {}", route.method, route.path);
        let tag = &operation["tags"][0];
        assert!(tags.iter().any(|known| known["name"] == *tag), "{name} has the unknown tag {tag}");
        assert!(operation["summary"].is_string(), "{name} has no summary");
        ids.push(operation["operationId"].as_str().unwrap().to_owned());
        for (status, answer) in operation["responses"].as_object().unwrap() {
            assert!(answer["description"].is_string(), "{name} does not describe {status}");
        }
        if !route.is_one_of(&OPEN) {
            let refused = &operation["responses"]["401"]["content"];
            let form = if tag == "drop-in" { "application/json" } else { "application/problem+json" };
            assert!(refused.get(form).is_some(), "{name} does not say how it refuses");
        }
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "two routes have the same operationId");
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn api_document_matches_its_snapshots() {
    let app = TestApp::start().await;
    let document = document(&app).await;
    insta::assert_snapshot!("routes", route_lines(&document).join("\n"));
    insta::assert_snapshot!("schemas", schema_lines(&document).join("\n"));
    app.stop().await;
}

/// The page's types are generated from a copy, so that the page is built without a server.
#[tokio::test(flavor = "multi_thread")]
async fn api_document_matches_the_pages_copy() {
    let app = TestApp::start().await;
    let document = document(&app).await;
    app.stop().await;
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/openapi.json");
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        std::fs::write(&path, serde_json::to_string_pretty(&document).unwrap() + "\n").unwrap();
    }
    let copy: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let hint = "`INSTA_UPDATE=always cargo nextest run -p foreword-server api_document` brings it up to date";
    assert!(copy == document, "web/openapi.json is another document: {hint}");
}

/// One line per route: parameters, body and responses.
fn route_lines(document: &Value) -> Vec<String> {
    let line = |route: Route| {
        let operation = &route.operation;
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let parameters: Vec<String> = parameters
            .iter()
            .filter(|one| one["in"] != "path")
            .map(|one| format!("{}: {}", one["name"].as_str().unwrap(), kind(&one["schema"])))
            .collect();
        let body = &operation["requestBody"]["content"];
        let body = body.as_object().map(|body| format!(" <- {}", contents(body))).unwrap_or_default();
        let answers = operation["responses"].as_object().unwrap().iter();
        let (good, bad): (Vec<_>, Vec<_>) = answers.partition(|(status, _)| status.as_str() < "300");
        let good = good.iter().map(|(status, answer)| {
            let content = answer["content"].as_object().map(contents).unwrap_or_default();
            format!("{status} {content}")
        });
        let bad: Vec<&str> = bad.iter().map(|(status, _)| status.as_str()).collect();
        let scopes: Vec<&str> = route.scopes().iter().map(|scope| scope.as_str()).collect();
        format!(
            "{} {} [{}] {}\n    ({}){body} -> {} | {}",
            route.method,
            route.path,
            scopes.join(" "),
            operation["operationId"].as_str().unwrap(),
            parameters.join(", "),
            good.collect::<Vec<_>>().join(", "),
            bad.join(" "),
        )
    };
    routes(document).into_iter().map(line).collect()
}

fn contents(content: &Map<String, Value>) -> String {
    let one = |(media, body): (&String, &Value)| match media.as_str() {
        "application/json" => kind(&body["schema"]),
        other => format!("{} as {other}", kind(&body["schema"])),
    };
    content.iter().map(one).collect::<Vec<_>>().join(" or ")
}

/// One line per schema: its fields; optional ones with a question mark.
fn schema_lines(document: &Value) -> Vec<String> {
    let schemas = document["components"]["schemas"].as_object().unwrap();
    schemas.iter().map(|(name, schema)| format!("{name} = {}", kind(schema))).collect()
}

/// A short form of a schema.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap().to_owned();
    }
    for (name, sign) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
        if let Some(parts) = schema[name].as_array() {
            return parts.iter().map(kind).collect::<Vec<_>>().join(sign);
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(fields) = schema["properties"].as_object() {
        let needed = schema["required"].as_array().cloned().unwrap_or_default();
        let field = |(name, field): (&String, &Value)| {
            let mark = if needed.contains(&json!(name)) { "" } else { "?" };
            format!("{name}{mark}: {}", kind(field))
        };
        return format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "));
    }
    let types = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        one => one.as_str().unwrap_or("any").to_owned(),
    };
    match schema.get("items").or(schema.get("additionalProperties")) {
        Some(items) if items.is_object() => format!("{types} of {}", kind(items)),
        _ => types,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn api_reader_loads_nothing_external() {
    let app = TestApp::start().await;
    let get = |path: &str| app.client.get(format!("{}{path}", app.url)).send();
    for (path, media) in
        [("/docs", "text/html"), ("/docs/reader.js", "text/javascript"), ("/docs/reader.css", "text/css")]
    {
        let response = get(path).await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with(media));
        let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(
            policy.starts_with("default-src 'none'")
                && !policy.contains("unsafe")
                && !policy.contains("http")
        );
        let text = response.text().await.unwrap();
        assert!(
            !text.contains("http://") && !text.contains("https://") && !text.contains("innerHTML"),
            "{path}"
        );
        for inline in ["<style", "style=", "onclick", "javascript:"] {
            assert!(path != "/docs" || !text.contains(inline), "{inline}");
        }
        if path == "/docs" {
            // All references exist.
            for name in text.split(['"']).filter(|part| part.starts_with("/docs/")) {
                assert_eq!(get(name).await.unwrap().status(), 200, "{name}");
            }
        }
    }
    app.stop().await;
}
