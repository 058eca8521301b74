// The chat looks for it here still.
export { NoConversation } from "../../parts/conversation/NoConversation";
