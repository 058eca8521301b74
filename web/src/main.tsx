import { render } from "preact";
import { App } from "./shell/App";
import { applyTheme } from "./shell/theme";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";

applyTheme();
const container = document.getElementById("page");
if (container) render(<App />, container);
