import { Component, type ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { Page } from "../ui/page.tsx";

interface Props {
  readonly children: ReactNode;
}

/** Keeps a view that fails from taking the whole page with it. */
export class ViewBoundary extends Component<Props, { readonly failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { readonly failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <Page title="Something went wrong">
        <div className="error-note" role="alert">
          <p>This view could not be shown. Your messages are safe on the server.</p>
          <Button kind="quiet" onClick={() => window.location.reload()}>
            Reload
          </Button>
        </div>
      </Page>
    );
  }
}
