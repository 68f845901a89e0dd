import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef } from "react";
import { queryClient, request, signedOut } from "../api/client.ts";
import { Button } from "../ui/button.tsx";
import { ErrorNote } from "../ui/error-note.tsx";
import { Mark } from "../ui/icon.tsx";

/** Signs a browser in with the code from the terminal. */
export function SignIn() {
  const code = useRef<HTMLInputElement>(null);
  const entering = useMutation({
    mutationFn: (typed: string) => {
      return request("/api/sign-in", { method: "POST", body: { code: typed } });
    },
    onSuccess: () => {
      signedOut.set(false);
      void queryClient.resetQueries();
    },
    onError: () => code.current?.select(),
  });
  useEffect(() => {
    document.title = "Sign in · Throughline";
    code.current?.focus();
  }, []);
  function enter(event: FormEvent): void {
    event.preventDefault();
    const typed = code.current?.value.trim() ?? "";
    if (typed !== "") entering.mutate(typed);
  }
  return (
    <main className="sign-in">
      <form className="card" onSubmit={enter}>
        <Mark size={36} />
        <h1>Sign in</h1>
        <p className="hint" id="code-hint">
          Enter the code from the terminal in which the companion runs. It works once, for one
          minute.
        </p>
        <div>
          <label className="label" htmlFor="code">
            Code
          </label>
          <input
            ref={code}
            id="code"
            className="field code-field"
            autoComplete="one-time-code"
            autoCapitalize="none"
            spellCheck={false}
            maxLength={64}
            aria-describedby="code-hint"
            required
          />
        </div>
        <ErrorNote error={entering.error} />
        <Button kind="primary" type="submit" isBusy={entering.isPending}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
