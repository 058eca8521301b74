// Jinja keywords, as listed in docs/templates.md.
export const JINJA_VARIABLES: [string, string][] = [
  ["agent_name", "The agent's name"],
  ["agent_class", "What `agent.class` says in the configuration"],
  ["ctx", "The request's whole context"],
  ["context", "The same as ctx"],
];

export const JINJA_FUNCTIONS = ["range", "dict", "namespace"];

/** A statement and its snippet; `${…}` marks cursor positions. */
export const JINJA_STATEMENTS: [string, string][] = [
  ["if", "if ${condition} %}${}{% endif %}"],
  ["if … is defined", "if ${name} is defined %}${}{% endif %}"],
  ["elif", "elif ${condition} %}"],
  ["else", "else %}"],
  ["endif", "endif %}"],
  ["for", "for ${item} in ${items} %}${}{% endfor %}"],
  ["endfor", "endfor %}"],
  ["set", "set ${name} = ${value} %}"],
  ["include", 'include "${house-style.md}" %}'],
  ["include … ignore missing", 'include "${house-style.md}" ignore missing %}'],
  ["with", "with ${name} = ${value} %}${}{% endwith %}"],
  ["raw", "raw %}${}{% endraw %}"],
  ["macro", "macro ${name}() %}${}{% endmacro %}"],
  ["filter", "filter ${upper} %}${}{% endfilter %}"],
  ["extends", 'extends "${base.md}" %}'],
  ["block", "block ${name} %}${}{% endblock %}"],
  ["import", 'import "${parts.md}" as ${parts} %}'],
  ["from", 'from "${parts.md}" import ${name} %}'],
];

const split = (words: string) => words.split(" ");

export const JINJA_FILTERS = split(
  "abs attr batch bool capitalize chain count d default dictsort e escape first float format groupby indent int items join last length lines list lower map max min pprint reject rejectattr replace reverse round safe select selectattr slice sort split string sum title tojson trim unique upper zip",
);

export const JINJA_TESTS = split(
  "boolean defined divisibleby endingwith eq equalto escaped even false filter float ge greaterthan gt in int integer iterable le lessthan lower lt mapping ne none number odd safe sameas sequence startingwith string test true undefined upper",
);

export const JINJA_KEYWORDS = new Set(
  split(
    "if elif else endif for endfor in is not and or set endset with endwith macro endmacro call endcall filter endfilter raw endraw block endblock extends include import from as ignore missing do autoescape endautoescape recursive true false none",
  ),
);
