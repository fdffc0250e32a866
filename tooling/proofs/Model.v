(** The network: switches with VLANs, frames, channels with finite buffers and PAUSE.

    This file holds definitions only. It and the statements of the theorems are what a reader must trust. *)

From Coq Require Import List NArith Arith Bool.
Import ListNotations.

(** * Switches *)

Definition Switch := N.
Definition Port := N.
Definition Vlan := N.
Definition Host := N.

(** A host is named by its number; its MAC address is that number. [To h] where no host has the number [h] is a frame
    to an unknown address. *)
Inductive Dest := Broadcast | To (h : Host).

(** The 802.1Q tag of a frame on a cable; [None] is an untagged frame. *)
Definition Tag := option Vlan.

Inductive Membership := Tagged | Untagged.

(** What one switch holds at one moment. *)
Record Config := {
  enabled : Port -> bool;
  pvid : Port -> option Vlan;  (* the VLAN of untagged frames; [None]: the port drops them *)
  takes_tagged : Port -> bool;
  takes_untagged : Port -> bool;
  filters : Port -> bool;  (* ingress filtering: drop frames of VLANs that the port is no member of *)
  floods : Port -> bool;  (* whether flooded frames leave by the port *)
  learns : Port -> bool;  (* whether the addresses of frames that arrive there are learned *)
  exists_vlan : Vlan -> bool;
  member : Vlan -> Port -> option Membership;
  entry : Vlan -> Dest -> option (list Port);  (* static MAC entries, of the broadcast address too *)
}.

(** The VLAN of a frame that arrives; [None]: the switch drops the frame. *)
Definition classify (c : Config) (p : Port) (t : Tag) : option Vlan :=
  let named := match t with
               | Some v => if takes_tagged c p then Some v else None
               | None => if takes_untagged c p then pvid c p else None
               end in
  match named with
  | None => None
  | Some v =>
      let in_member := match member c v p with Some _ => true | None => false end in
      if enabled c p && exists_vlan c v && (negb (filters c p) || in_member) then Some v else None
  end.

(** * Cables *)

(** What a port's cable leads to. A port is a switch and a number. *)
Inductive End := Link (s : Switch) (p : Port) | HostPort (h : Host) | Nothing.

Record Topology := {
  ports : Switch -> list Port;
  peer : Switch -> Port -> End;
  room : Switch -> Port -> nat;  (* how many frames fit into the buffer of a port *)
  wired : list (Switch * Port);  (* the ports with a cable *)
}.

(** A channel is one direction of a link, or the way from a host into its switch. It is named by the port at which its
    frames arrive, and the buffer of that port is its buffer. *)
Definition Chan := (Switch * Port)%type.

Definition well_wired (T : Topology) : Prop :=
  (forall s p h, peer T s p = HostPort h -> In (s, p) (wired T)) /\
  (forall s p s' p', peer T s p = Link s' p' -> In (s', p') (wired T)) /\
  (forall s p, 0 < room T s p).

(** * One hop *)

(** What a copy of a frame does next: it goes onto a channel with a tag, or into a host. *)
Inductive Out := Onto (c : Chan) (t : Tag) | Into (h : Host).

(** A host drops tagged frames; a port without a cable leads nowhere. *)
Definition out_of (T : Topology) (s : Switch) (q : Port) (t : Tag) : list Out :=
  match peer T s q, t with
  | Link s' p', _ => [Onto (s', p') t]
  | HostPort h, None => [Into h]
  | _, _ => []
  end.

(** The copies that leave switch [s] for a frame of VLAN [v] that came in by port [p]: by the members of the VLAN among
    the ports that [allowed] holds for, never by the port itself. *)
Definition copies (T : Topology) (c : Config) (s : Switch) (p : Port) (v : Vlan) (allowed : Port -> bool) : list Out :=
  flat_map (fun q =>
    if negb (N.eqb q p) && enabled c q && allowed q
    then match member c v q with
         | Some Tagged => out_of T s q (Some v)
         | Some Untagged => out_of T s q None
         | None => []
         end
    else []) (ports T s).

Definition mem (q : Port) (l : list Port) : bool := existsb (N.eqb q) l.

(** What a switch may decide for a frame. A static entry fixes the ports. Without one the frame is flooded, or, if the
    switch has learned the address at a port, sent by that port alone. The model does not follow what is learned: any
    address may have been, at any port that learns. *)
Inductive decides (T : Topology) (c : Config) (s : Switch) (p : Port) (t : Tag) (d : Dest) : list Out -> Prop :=
| Dropped :
    classify c p t = None -> decides T c s p t d []
| Pinned v qs :
    classify c p t = Some v -> entry c v d = Some qs -> decides T c s p t d (copies T c s p v (fun q => mem q qs))
| Flooded v :
    classify c p t = Some v -> entry c v d = None -> decides T c s p t d (copies T c s p v (floods c))
| Learned v h q :
    classify c p t = Some v -> entry c v d = None -> d = To h -> learns c q = true ->
    decides T c s p t d (copies T c s p v (fun q' => N.eqb q' q)).

(** * A change: what each switch holds, and the lines that it is sent *)

Record Wave := {
  before : Switch -> Config;
  lines : Switch -> list (Config -> Config);
}.

(** What switch [s] holds after [n] of its lines. *)
Definition held (W : Wave) (s : Switch) (n : nat) : Config :=
  fold_left (fun c line => line c) (firstn n (lines W s)) (before W s).

(** A network that nobody changes. *)
Definition still (W : Wave) : Prop := forall s, lines W s = [].

(** * Runs *)

Record Frame := { source : Host; number : N; dest : Dest }.

Definition Frame_eq_dec (a b : Frame) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.

(** A copy of a frame in a buffer. [todo] is [None] until the switch has decided, then what is left to do. [path] lists
    the channels that the copy has been on, the present one first. *)
Record Packet := { frame : Frame; at_ : Chan; tag : Tag; todo : option (list Out); path : list Chan }.

Record State := {
  position : Switch -> nat;  (* how many of its lines each switch has executed *)
  sent : list Frame;
  flying : list Packet;  (* all copies in all buffers; those of one buffer in the order of their arrival *)
  heard : list (Host * Frame);  (* what hosts have received *)
}.

Definition with_todo (k : Packet) (l : list Out) : Packet :=
  {| frame := frame k; at_ := at_ k; tag := tag k; todo := Some l; path := path k |}.

Definition Chan_eqb (a b : Chan) : bool := N.eqb (fst a) (fst b) && N.eqb (snd a) (snd b).

(** How many frames the buffer of a channel holds. *)
Definition load (l : list Packet) (c : Chan) : nat := length (filter (fun k => Chan_eqb (at_ k) c) l).

(** PAUSE: a channel takes another frame only if its buffer has room. *)
Definition has_room (T : Topology) (l : list Packet) (c : Chan) : Prop := load l c < room T (fst c) (snd c).

Definition arriving (k : Packet) (c : Chan) (t : Tag) : Packet :=
  {| frame := frame k; at_ := c; tag := t; todo := None; path := c :: path k |}.

(** [move T W a k b x y]: the packet [k], which stands between [a] and [b] in state [x], moves and gives state [y]. The
    switch decides for it, by what it holds at that moment, once; or one of its copies goes onto a channel that has room;
    or one goes into a host, which always takes it; or the packet, all copies made, leaves the buffer. *)
Inductive move (T : Topology) (W : Wave) (a : list Packet) (k : Packet) (b : list Packet) : State -> State -> Prop :=
| Decide pos se he outs :
    todo k = None ->
    decides T (held W (fst (at_ k)) (pos (fst (at_ k)))) (fst (at_ k)) (snd (at_ k)) (tag k) (dest (frame k)) outs ->
    move T W a k b
      {| position := pos; sent := se; flying := a ++ k :: b; heard := he |}
      {| position := pos; sent := se; flying := a ++ with_todo k outs :: b; heard := he |}
| Pass pos se he l1 l2 c t :
    todo k = Some (l1 ++ Onto c t :: l2) ->
    has_room T (a ++ k :: b) c ->
    move T W a k b
      {| position := pos; sent := se; flying := a ++ k :: b; heard := he |}
      {| position := pos; sent := se; flying := (a ++ with_todo k (l1 ++ l2) :: b) ++ [arriving k c t]; heard := he |}
| Deliver pos se he l1 l2 h :
    todo k = Some (l1 ++ Into h :: l2) ->
    move T W a k b
      {| position := pos; sent := se; flying := a ++ k :: b; heard := he |}
      {| position := pos; sent := se; flying := a ++ with_todo k (l1 ++ l2) :: b; heard := (h, frame k) :: he |}
| Leave pos se he :
    todo k = Some [] ->
    move T W a k b
      {| position := pos; sent := se; flying := a ++ k :: b; heard := he |}
      {| position := pos; sent := se; flying := a ++ b; heard := he |}.

Definition moves (T : Topology) (W : Wave) (x y : State) : Prop := exists a k b, move T W a k b x y.

(** A switch executes lines, or takes some back; the others stay where they are. *)
Inductive edits (W : Wave) : State -> State -> Prop :=
| Lines pos pos' se fl he s :
    pos' s <= length (lines W s) -> (forall s', s' <> s -> pos' s' = pos s') ->
    edits W
      {| position := pos; sent := se; flying := fl; heard := he |}
      {| position := pos'; sent := se; flying := fl; heard := he |}.

(** Hosts send what [S] allows: [S h t d] holds if host [h] may send frames with tag [t] to [d]. *)
Definition Sending := Host -> Tag -> Dest -> Prop.

Inductive step (T : Topology) (W : Wave) (S : Sending) : State -> State -> Prop :=
| Moves x y :
    moves T W x y -> step T W S x y
| Send pos se fl he s p t f :
    peer T s p = HostPort (source f) -> S (source f) t (dest f) -> ~ In f se -> has_room T fl (s, p) ->
    step T W S
      {| position := pos; sent := se; flying := fl; heard := he |}
      {| position := pos; sent := f :: se;
         flying := fl ++ [{| frame := f; at_ := (s, p); tag := t; todo := None; path := [(s, p)] |}]; heard := he |}
| Edits x y :
    edits W x y -> step T W S x y.

Definition start : State := {| position := fun _ => 0; sent := []; flying := []; heard := [] |}.

(** The states that some run leads to: any interleaving of frames and of the switches' lines. *)
Inductive run (T : Topology) (W : Wave) (S : Sending) : State -> Prop :=
| Start : run T W S start
| Then x y : run T W S x -> step T W S x y -> run T W S y.

(** * The union over all positions, and its dependencies *)

(** A frame state: a frame to [d] arrives on channel [c] with tag [t]. [may] holds for those that follow from what hosts
    send if each switch may do, at each hop anew, whatever one of its own positions does. *)
Inductive may (T : Topology) (W : Wave) (S : Sending) : Chan -> Tag -> Dest -> Prop :=
| May_send s p h t d :
    peer T s p = HostPort h -> S h t d -> may T W S (s, p) t d
| May_hop s p t d n outs c t' :
    may T W S (s, p) t d -> n <= length (lines W s) ->
    decides T (held W s n) s p t d outs -> In (Onto c t') outs -> may T W S c t' d.

(** Channel [c'] depends on channel [c]: a frame that holds [c] may wait for room on [c']. *)
Definition depends (T : Topology) (W : Wave) (S : Sending) (c c' : Chan) : Prop :=
  exists t d n outs t',
    may T W S c t d /\ n <= length (lines W (fst c)) /\
    decides T (held W (fst c) n) (fst c) (snd c) t d outs /\ In (Onto c' t') outs.

(** Dally and Seitz: an order of the channels along which every dependency rises. *)
Definition rises (T : Topology) (W : Wave) (S : Sending) (rank : Chan -> nat) : Prop :=
  forall c c', depends T W S c c' -> rank c < rank c'.

(** * What is claimed of runs *)

(** The packet [k] is the first of its buffer if none before it is in the same one. *)
Definition first_of_buffer (a : list Packet) (k : Packet) : Prop := forall k', In k' a -> at_ k' <> at_ k.

(** How often host [h] has received frame [f]. *)
Definition times_heard (x : State) (h : Host) (f : Frame) : nat :=
  length (filter (fun e => N.eqb (fst e) h && if Frame_eq_dec (snd e) f then true else false) (heard x)).

(** Nothing can move. *)
Definition at_rest (T : Topology) (W : Wave) (x : State) : Prop := forall y, ~ moves T W x y.

(** [after T W m x y]: [m] moves, and any lines of switches between them, lead from [x] to [y]; no host sends. *)
Inductive after (T : Topology) (W : Wave) : nat -> State -> State -> Prop :=
| After_none x : after T W 0 x x
| After_move m x y z : after T W m x y -> moves T W y z -> after T W (S m) x z
| After_edits m x y z : after T W m x y -> edits W y z -> after T W m x z.
