import { Component } from "preact";
import type { ComponentChildren, VNode } from "preact";

interface Props {
  /** Drawn instead of the children when drawing them failed. */
  readonly instead: () => ComponentChildren;
  /** The children are tried again when this changes. */
  readonly of: unknown;
  readonly children: ComponentChildren;
}

interface Failed {
  readonly failed: boolean;
  readonly of: unknown;
}

/** Keeps a part of the page that cannot be drawn from taking the rest of the page with it. */
export class Boundary extends Component<Props, Failed> {
  override state: Failed = { failed: false, of: undefined };

  static override getDerivedStateFromProps(props: Props, state: Failed): Failed {
    return state.failed && state.of === props.of ? state : { failed: false, of: props.of };
  }

  override componentDidCatch(error: unknown): void {
    console.warn("a part of the page could not be drawn", error);
    this.setState({ failed: true, of: this.props.of });
  }

  override render(): VNode {
    return <>{this.state.failed ? this.props.instead() : this.props.children}</>;
  }
}
