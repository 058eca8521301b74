// A reader for /openapi.json: groups, routes, parameters, bodies, answers, and a way to try what only reads.
// Text from the document is always set as text, never as markup.
"use strict";

const KEPT = "foreword.token";
const METHODS = ["get", "post", "put", "patch", "delete"];
const MAX_SHOWN = 200000;
const ASKED = "Paste a token to read the document. It stays in this tab.";

const byId = (id) => document.getElementById(id);

// An element with attributes and children; a child that is a string is text.
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (value !== undefined && value !== false) {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// A text in which `words` stand between backticks.
function prose(text) {
  const parts = String(text || "").split(/`([^`]*)`/);
  return parts.map((part, index) => (index % 2 ? make("code", {}, part) : part));
}

function say(words, bad) {
  const note = byId("note");
  note.textContent = words;
  note.classList.toggle("bad", Boolean(bad));
}

function slug(words) {
  return words.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

// The document, once it is read.
let documented = null;

function resolve(schema) {
  let found = schema || {};
  for (let hops = 0; found.$ref && hops < 20; hops += 1) {
    const name = found.$ref.split("/").pop();
    found = documented.components.schemas[name] || {};
  }
  return found;
}

function nameOf(schema) {
  return schema && schema.$ref ? schema.$ref.split("/").pop() : null;
}

// What kind of value a schema describes, in a word or two.
function kind(schema) {
  if (!schema) return "anything";
  const name = nameOf(schema);
  const options = schema.oneOf || schema.anyOf;
  if (options) return options.map(kind).join(" or ");
  const found = resolve(schema);
  if (found.type === "array" || (Array.isArray(found.type) && found.type.includes("array"))) {
    return "list of " + kind(found.items);
  }
  const types = [].concat(found.type || "anything").join(" or ");
  const format = found.format && found.format !== "int64" && found.format !== "double" ? ` (${found.format})` : "";
  const words = found.enum ? ": " + found.enum.join(", ") : "";
  return name && (types.includes("object") || found.allOf) ? name : types + format + words;
}

// The fields of an object, those of its parts included.
function fields(schema) {
  const found = resolve(schema);
  const own = Object.entries(found.properties || {}).map(([name, field]) => {
    return { name, field, needed: (found.required || []).includes(name) };
  });
  const parts = (found.allOf || []).concat((found.oneOf || []).filter((part) => resolve(part).type !== "null"));
  return own.concat(parts.flatMap(fields));
}

function fieldTable(schema, depth) {
  const all = fields(schema);
  if (all.length === 0 || depth > 6) return null;
  const rows = all.map(({ name, field, needed }) => {
    const inner = resolve(field).type === "array" ? resolve(field).items : field;
    const table = fieldTable(inner, depth + 1);
    const more = table ? make("details", {}, make("summary", {}, "its fields"), table) : null;
    return make("tr", {},
      make("td", {}, make("code", {}, name), needed ? "" : make("span", { class: "dim" }, " optional")),
      make("td", { class: "dim" }, kind(field)),
      make("td", {}, ...prose(field.description || resolve(field).description), more));
  });
  const head = make("tr", {}, ...["field", "kind", "what it is"].map((words) => make("th", { scope: "col" }, words)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

// A value that the schema would accept, for people to look at.
function example(schema, depth) {
  const found = resolve(schema);
  if (schema && schema.example !== undefined) return schema.example;
  if (found.example !== undefined) return found.example;
  if (found.default !== undefined) return found.default;
  if (found.enum) return found.enum[0];
  const type = [].concat(found.type || [])[0];
  if (type === "array") return depth > 3 ? [] : [example(found.items, depth + 1)];
  const all = fields(schema);
  if (all.length > 0) {
    if (depth > 3) return {};
    return Object.fromEntries(all.map(({ name, field }) => [name, example(field, depth + 1)]));
  }
  return { string: "…", integer: 0, number: 0, boolean: false, object: {} }[type] ?? null;
}

function parameters(operation, path) {
  const all = operation.parameters || [];
  if (all.length === 0) return null;
  const rows = all.map((parameter) => make("tr", {},
    make("td", {}, make("code", {}, parameter.name), parameter.required ? "" : make("span", { class: "dim" }, " optional")),
    make("td", { class: "dim" }, parameter.in + ", " + kind(parameter.schema)),
    make("td", {}, ...prose(parameter.description))));
  return make("section", { "aria-label": "Parameters of " + path },
    make("h3", {}, "Parameters"), make("table", {}, make("tbody", {}, ...rows)));
}

function content(body) {
  const found = Object.entries((body && body.content) || {})[0];
  return found ? { type: found[0], schema: found[1].schema } : null;
}

function bodyPart(title, body) {
  const found = content(body);
  if (!found) return null;
  return make("section", {},
    make("h3", {}, title, make("span", { class: "dim" }, ` ${found.type}, ${kind(found.schema)}`)),
    fieldTable(found.schema, 0),
    make("details", {}, make("summary", {}, "an example"),
      make("pre", { tabindex: "0" }, JSON.stringify(example(found.schema, 0), null, 2))));
}

// The messages of a stream, each with its fields.
function messagePart(title, schema) {
  const options = resolve(schema).oneOf || [schema];
  return make("section", {}, make("h3", {}, title), ...options.map((option) => make("details", {},
    make("summary", {}, nameOf(option) || kind(option)),
    make("p", {}, ...prose(resolve(option).description)),
    fieldTable(option, 0))));
}

function streams(operation) {
  const media = Object.values(operation.responses || {}).flatMap((answer) => Object.values(answer.content || {}));
  const events = media.map(({ schema }) => schema && schema.contentSchema).filter(Boolean);
  const socket = operation["x-websocket"];
  return events.map((schema) => messagePart("Events", schema)).concat(socket
    ? [messagePart("The client sends", socket.client), messagePart("The server sends", socket.server)]
    : []);
}

function answers(operation) {
  const all = Object.entries(operation.responses || {});
  const good = all.filter(([status]) => status < "300");
  const other = all.filter(([status]) => status >= "300");
  const parts = good.map(([status, answer]) => bodyPart("Answer " + status, answer));
  const rows = other.map(([status, answer]) => make("li", {}, make("code", {}, status), " ",
    ...prose(answer.description || ""), make("span", { class: "dim" }, " " + ((content(answer) || {}).type || ""))));
  const refusals = rows.length ? make("section", {}, make("h3", {}, "Other answers"), make("ul", {}, ...rows)) : null;
  return parts.concat(refusals);
}

function address(path, values) {
  const query = new URLSearchParams();
  let filled = path;
  for (const { parameter, input } of values) {
    if (parameter.in === "path") filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (parameter.in === "query" && input.value !== "") query.set(parameter.name, input.value);
  }
  const words = query.toString();
  return filled + (words ? "?" + words : "");
}

// What only reads can be tried here.
function trial(path, operation) {
  const values = (operation.parameters || []).filter((parameter) => parameter.in !== "header").map((parameter) => {
    const id = slug("try-" + path + "-" + parameter.name);
    const input = make("input", { id, placeholder: parameter.example || "", required: parameter.required === true });
    return { parameter, input, label: make("label", { for: id }, parameter.name) };
  });
  const result = make("div", { role: "status", "aria-live": "polite" });
  const form = make("form", { class: "try", on: { submit: (event) => { event.preventDefault(); send(path, values, result); } } },
    ...values.flatMap(({ label, input }) => [label, input]), make("button", { type: "submit" }, "Send"));
  return make("section", {}, make("h3", {}, "Try it"), form, result);
}

async function send(path, values, result) {
  const target = address(path, values);
  result.replaceChildren(make("p", { class: "dim" }, "GET " + target + " …"));
  try {
    const began = performance.now();
    const response = await ask(target);
    const text = (await response.text()).slice(0, MAX_SHOWN);
    const took = Math.round(performance.now() - began);
    result.replaceChildren(
      make("p", { class: response.ok ? "dim" : "bad" }, `GET ${target}: ${response.status}, ${took} ms`),
      make("pre", { tabindex: "0" }, pretty(text)));
  } catch (error) {
    result.replaceChildren(make("p", { class: "bad" }, "The server can't be reached: " + error.message));
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// With the token of this tab, or else as whoever is signed in at the page.
function ask(path) {
  const token = sessionStorage.getItem(KEPT);
  if (!token) return fetch(path, { credentials: "same-origin" });
  return fetch(path, { headers: { authorization: "Bearer " + token }, credentials: "omit" });
}

function scopes(operation) {
  const asked = operation.security || documented.security || [];
  if (asked.some((one) => Object.keys(one).length === 0) || asked.length === 0) return ["no token"];
  const named = asked.flatMap((one) => Object.values(one).flat());
  return named.length ? named : ["any token"];
}

function route(path, method, operation) {
  const [first, ...rest] = (operation.description || "").split("\n\n");
  const summary = operation.summary || first;
  const said = operation.summary ? operation.description : rest.join("\n\n");
  const inside = make("div", {},
    make("p", {}, ...prose(said)),
    parameters(operation, path),
    bodyPart("Body", operation.requestBody),
    ...answers(operation),
    ...streams(operation),
    method === "get" ? trial(path, operation) : null);
  return make("details", { class: "route", id: operation.operationId, "data-words": [method, path, summary, said].join(" ").toLowerCase() },
    make("summary", {},
      make("span", { class: "method " + method }, method.toUpperCase()),
      make("span", { class: "path" }, path),
      make("span", {}, ...prose(summary)),
      ...scopes(operation).map((scope) => make("span", { class: "scope" }, scope))),
    inside);
}

function operations() {
  return Object.entries(documented.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ path, method, operation: item[method] })));
}

function show() {
  const all = operations();
  const described = new Map((documented.tags || []).map((tag) => [tag.name, tag.description]));
  const used = new Set(all.flatMap(({ operation }) => operation.tags || ["other"]));
  const names = [...described.keys()].filter((name) => used.has(name)).concat([...used].filter((name) => !described.has(name)));
  const links = names.map((name) => make("li", {}, make("a", { href: "#tag-" + slug(name) }, name)));
  byId("tags").replaceChildren(make("ul", {}, ...links));
  const groups = names.map((name) => make("section", { class: "group" },
    make("h2", { id: "tag-" + slug(name) }, name),
    make("p", { class: "dim" }, ...prose(described.get(name))),
    ...all.filter(({ operation }) => (operation.tags || ["other"]).includes(name))
      .map(({ path, method, operation }) => route(path, method, operation))));
  const about = documented.info.description.split("\n\n").map((part) => make("p", {}, ...prose(part)));
  byId("routes").replaceChildren(...about, ...groups);
  byId("search").hidden = false;
  byId("forget").hidden = !sessionStorage.getItem(KEPT);
  // Whoever is signed in needs no field for a token.
  byId("key").hidden = !sessionStorage.getItem(KEPT);
  say(`${all.length} routes, version ${documented.info.version}.`);
  const meant = location.hash && document.getElementById(location.hash.slice(1));
  if (meant) { meant.open = true; meant.scrollIntoView(); }
}

function filter() {
  const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const element of document.querySelectorAll("details.route")) {
    element.hidden = !words.every((word) => element.dataset.words.includes(word));
  }
  for (const group of document.querySelectorAll(".group")) {
    group.hidden = !group.querySelector("details.route:not([hidden])");
  }
}

async function read() {
  say("Reading…");
  try {
    const response = await ask("/openapi.json");
    if (response.status === 401 && !sessionStorage.getItem(KEPT)) {
      say(ASKED);
      return;
    }
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      say(problem.detail || "The server answers " + response.status + ".", true);
      return;
    }
    documented = await response.json();
    show();
  } catch (error) {
    say("The server can't be reached: " + error.message, true);
  }
}

function forget() {
  sessionStorage.removeItem(KEPT);
  documented = null;
  byId("token").value = "";
  byId("tags").replaceChildren();
  byId("routes").replaceChildren();
  byId("search").hidden = true;
  byId("forget").hidden = true;
  say("Forgotten. " + ASKED);
  byId("token").focus();
}

byId("key").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEPT, byId("token").value.trim());
  byId("token").value = "";
  read();
});
byId("forget").addEventListener("click", forget);
byId("find").addEventListener("input", filter);
// A slash leads to the search, as people know it.
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && !byId("search").hidden) {
    event.preventDefault();
    byId("find").focus();
  }
});
read();
