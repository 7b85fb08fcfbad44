// SPDX-License-Identifier: Apache-2.0
// Asks for a token, when the server wants one (docs/security.md); App shows it in place of the
// panels. No field has a name, so no browser could put the token into an address.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Model } from "../model/model";

export function LoginForm({ model }: { model: Model }) {
  const [text, setText] = useState("");
  const [isAsking, setIsAsking] = useState(false);
  const [wasTried, setWasTried] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    return () => document.getElementById("map")?.focus();
  }, []);

  const logIn = async (token: string | null) => {
    if (isAsking) return;
    setIsAsking(true);
    await model.logIn(token);
    setIsAsking(false);
    setWasTried(model.connection.state === "locked");
    setText("");
    field.current?.focus();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim()) void logIn(text.trim());
  };
  return (
    <form class="panel notice login" aria-labelledby="login-title" onSubmit={submit}>
      <h2 id="login-title">Log in</h2>
      <p id="login-why" class={wasTried && !isAsking ? "error" : "hint"} aria-live="polite">
        {isAsking ? "Asking the server …" : model.connection.sentence}
      </p>
      <label for="token">Token</label>
      <input
        ref={field}
        id="token"
        type="password"
        autocomplete="current-password"
        spellcheck={false}
        required
        aria-describedby="login-why"
        aria-invalid={wasTried && !isAsking}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <div class="row">
        <button type="submit">Log in</button>
        {model.world.access.worksWithoutToken && (
          <button type="button" class="quiet" onClick={() => void logIn(null)}>
            Go on without a token
          </button>
        )}
      </div>
      <p class="hint">The token is kept until this tab is closed.</p>
    </form>
  );
}

/** Shows nothing until the server has refused something for lack of a token or of a role. */
export function LoginButton({ model }: { model: Model }) {
  const { hasKeys, hasToken } = model.world.access;
  if (!hasKeys || model.connection.state === "locked") return null;
  return (
    <button type="button" class="quiet" onClick={() => model.logOut()}>
      {hasToken ? "Log out" : "Log in"}
    </button>
  );
}
