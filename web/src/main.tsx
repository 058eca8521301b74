import { render } from "preact";
import { App } from "./shell/App";
import { applyTheme } from "./shell/theme";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";

applyTheme();
const place = document.getElementById("page");
if (place) render(<App />, place);
