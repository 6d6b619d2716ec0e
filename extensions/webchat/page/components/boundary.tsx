import { Component } from "preact";
import type { ComponentChildren, VNode } from "preact";

interface Props {
  /** Drawn in place of the children when their drawing failed. */
  readonly fallback: () => ComponentChildren;
  /** The children are drawn again when this changes. */
  readonly retryOn: unknown;
  readonly children: ComponentChildren;
}

interface BoundaryState {
  readonly failed: boolean;
  readonly retryOn: unknown;
}

/** Catches an error in drawing a part of the page, so that the rest of the page is drawn. */
export class ErrorBoundary extends Component<Props, BoundaryState> {
  override state: BoundaryState = { failed: false, retryOn: undefined };

  static override getDerivedStateFromProps(props: Props, state: BoundaryState): BoundaryState {
    return state.failed && state.retryOn === props.retryOn ? state : { failed: false, retryOn: props.retryOn };
  }

  override componentDidCatch(error: unknown): void {
    console.warn("a part of the page could not be drawn", error);
    this.setState({ failed: true, retryOn: this.props.retryOn });
  }

  override render(): VNode {
    return <>{this.state.failed ? this.props.fallback() : this.props.children}</>;
  }
}
