// SPDX-License-Identifier: Apache-2.0
// The page as a server serves it.
import { render } from "preact";
import { Model } from "./model/model";
import { App } from "./ui/app";
import { SocketWorld } from "./world/socket_world";
import "./page.css";

const root = document.getElementById("page");
if (root) render(<App model={new Model(new SocketWorld())} />, root);
