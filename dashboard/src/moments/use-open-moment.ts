import { useEffect, useRef } from "react";
import { useLocation, useSearchParams } from "wouter";
import { useHistoryState } from "wouter/use-browser-location";

const listAddress = "/moments";

/** The open moment, which is part of the address: Back closes it, and a reload keeps it. */
export function useOpenMoment() {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const name = params.get("open") ?? undefined;
  const state: unknown = useHistoryState();
  const isFromList = typeof state === "object" && state !== null && "fromList" in state;
  useFocusAfter(name);
  const leave = () => navigate(listAddress, { replace: true });
  return {
    name,
    /** Another one takes its place: Back leads to the list all the same. */
    show(next: string): void {
      const to = `${listAddress}?${new URLSearchParams({ open: next })}`;
      const isOpen = name !== undefined;
      if (isOpen) navigate(to, { replace: true, state });
      else navigate(to, { state: { fromList: true } });
    },
    close: () => (isFromList ? window.history.back() : leave()),
    /** Closes it at once. */
    leave,
  };
}

/** When a moment is closed, its place in the list has the focus again. */
function useFocusAfter(name: string | undefined): void {
  const last = useRef(name);
  useEffect(() => {
    if (name === undefined) document.getElementById(`moment-${last.current}`)?.focus();
    last.current = name;
  }, [name]);
}
